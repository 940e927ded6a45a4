"""Derives a KernelSpec from a PyTorch reference: what ``KernelSpec.from_*`` call."""

import copy
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.parameter import is_lazy

from cutegen import kernelbench
from cutegen.check_shapes import Shapes, ShapeSearch, Work
from cutegen.contained import contained
from cutegen.intake import check_reference
from cutegen.kernel_class import classify
from cutegen.meta_run import MetaRun, meta_run
from cutegen.naming import c_names
from cutegen.reference import FunctionModule, Reference, module_state, pickled
from cutegen.spec import Case, DType, KernelSpec, MathMode, ScalarArg, TensorArg
from cutegen.spec_error import SpecError
from cutegen.tracing import Extent, Trace, TraceInput, trace

CheckShapes = Sequence[Sequence[Sequence[int]]]
"""Per check, one shape for each tensor input of ``forward``, in order."""


def from_file(
    path: str | Path,
    *,
    name: str | None,
    math_mode: str,
    check_shapes: CheckShapes | None,
    seed: int,
) -> KernelSpec:
    """See ``KernelSpec.from_kernelbench``."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}; give a KernelBench file") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is no UTF-8 text; give a KernelBench-format .py file") from error
    origin = str(path)
    loaded = kernelbench.load(text, origin, seed)
    with contained(seed):
        try:  # without data, for inputs may be gigabytes
            with FakeTensorMode(allow_non_fake_inputs=True):
                inputs = kernelbench.call_get_inputs(loaded, origin)
        except SpecError:  # some code needs data; then it has to be made
            inputs = kernelbench.call_get_inputs(loaded, origin)
    return derive(
        Reference(kind="source", text=text, seed=seed),
        loaded.model,
        inputs,
        name=name or path.stem,
        math_mode=math_mode,
        check_shapes=check_shapes,
    )


def from_object(
    target: nn.Module | Callable[..., object],
    inputs: Sequence[object],
    *,
    name: str | None,
    math_mode: str,
    check_shapes: CheckShapes | None,
    seed: int,
) -> KernelSpec:
    """See ``KernelSpec.from_module`` and ``KernelSpec.from_callable``."""
    if isinstance(target, nn.Module):
        title, module = type(target).__name__, copy.deepcopy(target).cpu()
    else:
        title, module = getattr(target, "__name__", "function"), FunctionModule(target)
    if not isinstance(inputs, list | tuple):
        raise SpecError(f"inputs must be a list of arguments, not {type(inputs).__name__}")
    reference = pickled(module, seed)
    return derive(
        reference,
        reference.build(),  # as every other process will see it
        inputs,
        name=name or title.strip("<>"),
        math_mode=math_mode,
        check_shapes=check_shapes,
    )


def derive(
    reference: Reference,
    module: nn.Module,
    inputs: Sequence[object],
    *,
    name: str,
    math_mode: str,
    check_shapes: CheckShapes | None,
) -> KernelSpec:
    """Derive a spec and pass it through the intake gate.

    Args:
        reference: What the spec will carry.
        module: The same reference, built.
        inputs: The arguments of ``forward`` at the timed shapes; tensors may be fake.
        name: What people call it.
        math_mode: A value of ``MathMode``.
        check_shapes: Per check, one shape for each tensor input; derived if None.

    Raises:
        SpecError: The reference is refused, with the reason and what to do.
    """
    state = module_state(module)
    forward_names = _forward_names(module, inputs)
    names = c_names([*forward_names, *state])
    arguments = tuple(_argument(field, value) for field, value in zip(names, inputs, strict=False))
    roles = {key for key, _ in module.named_parameters(remove_duplicate=False)}
    state_arguments = tuple(
        _tensor(field, "parameter" if key in roles else "buffer", tensor)
        for (key, tensor), field in zip(state.items(), names[len(inputs) :], strict=True)
    )
    if not any(isinstance(argument, TensorArg) for argument in arguments):
        raise SpecError("forward has no tensor argument, so there is nothing to compute from")
    cases = _Cases(module, arguments, state_arguments)
    with contained():
        timed = cases.timed()
        traced = trace(
            module,
            [
                TraceInput(argument.name, _value(argument, value))
                for argument, value in zip(arguments, inputs, strict=True)
            ],
            dict(zip(state, names[len(inputs) :], strict=True)),
        )
        checks = cases.given(check_shapes) if check_shapes else cases.derived(traced)
    ops = traced.ops if traced else ()
    spec = KernelSpec(
        name=name,
        reference=reference,
        arguments=arguments,
        timed=timed,
        checks=checks or (timed,),
        kernel_class=classify(ops),
        math_mode=_math_mode(math_mode),
        trace=ops,
        results=traced.results if traced else (),
    )
    check_reference(spec)
    return spec


def _math_mode(text: str) -> MathMode:
    try:
        return MathMode(text)
    except ValueError:
        raise SpecError(f"math mode {text!r} is none of {', '.join(MathMode)}") from None


def _forward_names(module: nn.Module, inputs: Sequence[object]) -> list[str]:
    """The names of the arguments that ``inputs`` fill.

    Raises:
        SpecError: ``forward`` cannot be called with these inputs by position.
    """
    function = module.function if isinstance(module, FunctionModule) else module.forward
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in function, such as torch.relu, has no signature
        return ["x"] if len(inputs) == 1 else [f"x{index}" for index in range(len(inputs))]
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        raise SpecError("forward takes *args; give every argument a name of its own")
    needed = [parameter for parameter in parameters if parameter.default is kinds.empty]
    unreachable = [parameter.name for parameter in needed if parameter.kind is kinds.KEYWORD_ONLY]
    if unreachable:
        raise SpecError(
            f"forward needs keyword-only arguments ({', '.join(unreachable)}), but inputs are "
            "given by position; make them positional"
        )
    by_position = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in by_position]
    least = sum(parameter.kind in by_position for parameter in needed)
    if not least <= len(inputs) <= len(names):
        raise SpecError(
            f"forward takes {least if least == len(names) else f'{least} to {len(names)}'} "
            f"arguments ({', '.join(names)}), but there are {len(inputs)} inputs"
        )
    return names[: len(inputs)]


def _argument(name: str, value: object) -> TensorArg | ScalarArg:
    """One input as an argument of the contract."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case Tensor():
            return _tensor(name, "input", value)
        case bool():
            return ScalarArg(name=name, c_type="bool", value=value)
        case int() if -(2**63) <= value < 2**63:
            return ScalarArg(name=name, c_type="int64_t", value=value)
        case float() if np.isfinite(value):
            return ScalarArg(name=name, c_type="double", value=value)
        case int() | float():
            raise SpecError(f"input {name} is {value}: scalars must be finite and fit 64 bits")
    raise SpecError(
        f"input {name} is a {type(value).__name__}; inputs must be tensors, or float, int or "
        "bool scalars (a constant belongs in get_init_inputs)"
    )


def _tensor(name: str, role: str, tensor: Tensor) -> TensorArg:
    if is_lazy(tensor):
        raise SpecError(f"{role} {name} has no shape yet; run the lazy module once before")
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise SpecError(f"{role} {name} is sparse or quantized; only dense tensors are supported")
    if tensor.numel() == 0:
        raise SpecError(f"{role} {name} of shape {tuple(tensor.shape)} has no elements")
    if role == "input" and not tensor.is_contiguous():
        raise SpecError(
            f"input {name} is not contiguous (strides {tensor.stride()}); kernels get contiguous "
            "tensors, so call .contiguous() in get_inputs, or transpose inside forward"
        )
    return TensorArg.model_validate(
        {
            "name": name,
            "role": role,
            "dtype": _dtype(tensor.dtype, f"{role} {name}"),
            "shape": tuple(tensor.shape),
        }
    )


def _dtype(dtype: torch.dtype, owner: str) -> DType:
    try:
        return DType(str(dtype).removeprefix("torch."))
    except ValueError:
        raise SpecError(f"{owner} has dtype {dtype}; supported are {', '.join(DType)}") from None


def _value(argument: TensorArg | ScalarArg, given: object) -> Tensor | float:
    if isinstance(argument, ScalarArg):
        return argument.value
    assert isinstance(given, Tensor)
    return given


class _Cases:
    """Makes cases: runs the module on shapes, and names its outputs."""

    def __init__(
        self,
        module: nn.Module,
        arguments: Sequence[TensorArg | ScalarArg],
        state: tuple[TensorArg, ...],
    ) -> None:
        self._module = module
        self._arguments = arguments
        self._state = state
        self._inputs = [argument for argument in arguments if isinstance(argument, TensorArg)]
        self._ranks: list[int] = []

    def timed(self) -> Case:
        """The case as the inputs are given."""
        shapes = tuple(tensor.shape for tensor in self._inputs)
        try:
            run = self._run(shapes)
        except SpecError:
            raise
        except Exception as error:
            raise SpecError(
                f"forward raises {type(error).__name__} on its own inputs: {error}"
            ) from error
        self._ranks = [len(shape) for shape, _ in run.outputs]
        return self._case("timed", shapes, run)

    def given(self, check_shapes: CheckShapes) -> tuple[Case, ...]:
        """Cases at shapes that the user chose."""
        cases = []
        for index, given in enumerate(check_shapes):
            shapes = tuple(tuple(shape) for shape in given)
            ranks = [len(tensor.shape) for tensor in self._inputs]
            if [len(shape) for shape in shapes] != ranks:
                raise SpecError(
                    f"check_shapes[{index}] is {shapes}; it needs one shape per tensor input, "
                    f"of ranks {ranks}"
                )
            try:
                cases.append(self._case(f"given{index}", shapes, self._run(shapes)))
            except SpecError:
                raise
            except Exception as error:
                raise SpecError(f"forward raises at check_shapes[{index}]: {error}") from error
        return tuple(cases)

    def derived(self, traced: Trace | None) -> tuple[Case, ...]:
        """Cases scaled down by the symbols of the trace, or by equal extents without one."""
        extents = traced.extents if traced else self._equal_extents()
        timed = {
            extent: actual
            for shape, tensor in zip(extents, self._inputs, strict=True)
            for extent, actual in zip(shape, tensor.shape, strict=True)
            if isinstance(extent, str)
        }
        search = ShapeSearch(extents, timed, traced.ranges if traced else {}, self._probe)
        return tuple(
            self._case(name, shapes, self._run(shapes)) for name, shapes in search.choose().items()
        )

    def _equal_extents(self) -> tuple[tuple[Extent, ...], ...]:
        """Without a trace: extents found in the state are fixed, equal ones move together."""
        fixed = {1} | {extent for tensor in self._state for extent in tensor.shape}
        return tuple(
            tuple(extent if extent in fixed else f"s{extent}" for extent in tensor.shape)
            for tensor in self._inputs
        )

    def _probe(self, shapes: Shapes) -> Work | None:
        try:
            run = self._run(shapes)
        except Exception:  # noqa: BLE001 - whatever it raises, it does not run at these shapes
            return None
        outputs = [shape for shape, _ in run.outputs]
        if [len(shape) for shape in outputs] != self._ranks or any(0 in x for x in outputs):
            return None
        return Work(run.elements, run.multiplies)

    def _run(self, shapes: Shapes) -> MetaRun:
        waiting = iter(shapes)
        return meta_run(
            self._module,
            [
                argument.value
                if isinstance(argument, ScalarArg)
                else (next(waiting), argument.dtype.torch)
                for argument in self._arguments
            ],
        )

    def _case(self, name: str, shapes: Shapes, run: MetaRun) -> Case:
        inputs = [
            tensor.model_copy(update={"shape": shape})
            for tensor, shape in zip(self._inputs, shapes, strict=True)
        ]
        single = len(run.outputs) == 1
        outputs = [
            TensorArg(
                name="out" if single else f"out{index}",
                role="output",
                dtype=_dtype(dtype, f"output {index}"),
                shape=shape,
            )
            for index, (shape, dtype) in enumerate(run.outputs)
        ]
        return Case(name=name, tensors=(*inputs, *self._state, *outputs))
