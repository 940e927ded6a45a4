"""Derives a KernelSpec from a PyTorch reference: what ``KernelSpec.from_*`` call."""

import copy
from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from cutegen import kernelbench
from cutegen.arguments import contract_argument, forward_names, tensor_argument
from cutegen.cases import Cases, CheckShapes
from cutegen.contained import contained
from cutegen.exported import TraceInput
from cutegen.intake import check_reference
from cutegen.kernel_class import classify
from cutegen.naming import c_names
from cutegen.reference import FunctionModule, Reference, module_state, pickled
from cutegen.spec import KernelSpec, MathMode, ScalarArg, TensorArg
from cutegen.spec_error import SpecError
from cutegen.tracing import trace


def from_text(
    text: str,
    origin: str,
    *,
    name: str,
    math_mode: str,
    check_shapes: CheckShapes | None,
    seed: int,
) -> KernelSpec:
    """See ``KernelSpec.from_kernelbench``; ``origin`` is what messages call the file."""
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
        name=name,
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
        title, module = type(target).__name__, _on_cpu(target)
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
    names = c_names([*forward_names(module, inputs), *state])
    input_names, state_names = names[: len(inputs)], names[len(inputs) :]
    arguments = tuple(map(contract_argument, input_names, inputs))
    if not any(isinstance(argument, TensorArg) for argument in arguments):
        raise SpecError("forward has no tensor argument, so there is nothing to compute from")
    parameters = {key for key, _ in module.named_parameters(remove_duplicate=False)}
    state_arguments = tuple(
        tensor_argument(field, "parameter" if key in parameters else "buffer", tensor)
        for (key, tensor), field in zip(state.items(), state_names, strict=True)
    )
    cases = Cases(module, arguments, state_arguments)
    with contained():
        timed = cases.timed()
        traced = trace(
            module,
            [
                TraceInput(argument.name, _value(argument, value))
                for argument, value in zip(arguments, inputs, strict=True)
            ],
            dict(zip(state, state_names, strict=True)),
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


def _on_cpu(module: nn.Module) -> nn.Module:
    """The module, or a copy on the CPU if any of it lies elsewhere."""
    if all(tensor.device.type == "cpu" for tensor in module_state(module).values()):
        return module
    try:
        return copy.deepcopy(module).cpu()
    except Exception as error:
        raise SpecError(f"{type(module).__name__} cannot be copied to the CPU: {error}") from error


def _math_mode(text: str) -> MathMode:
    try:
        return MathMode(text)
    except ValueError:
        raise SpecError(f"math mode {text!r} is none of {', '.join(MathMode)}") from None


def _value(argument: TensorArg | ScalarArg, given: object) -> Tensor | float:
    if isinstance(argument, ScalarArg):
        return argument.value
    assert isinstance(given, Tensor)
    return given
