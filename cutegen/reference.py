"""The PyTorch reference as data: source text or a pickled module, loadable anywhere."""

import base64
import functools
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import cloudpickle
import torch
from torch import Tensor, nn

from cutegen import kernelbench
from cutegen.contained import contained
from cutegen.frozen import Frozen
from cutegen.spec_error import SpecError

if TYPE_CHECKING:
    from cutegen.spec import Case, KernelSpec

_SMALL_INPUTS = 64 * 2**20  # bytes; larger inputs are never made only to look at their values


class FunctionModule(nn.Module):
    """A plain function as a module without state."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Keep the function."""
        super().__init__()
        self.function = function

    def forward(self, *args: object) -> object:
        """Call the function."""
        return self.function(*args)


class Reference(Frozen):
    """A PyTorch module in a form that travels with the spec.

    ``kind`` is ``source`` (a KernelBench-format file's text) or ``pickle`` (base64 of a
    cloudpickled module). ``seed`` is where parameters of a ``source`` start.
    """

    kind: Literal["source", "pickle"]
    text: str
    seed: int = 0

    def build(self) -> nn.Module:
        """A fresh module on the CPU, with equal parameters on every machine.

        Raises:
            SpecError: The reference cannot be executed here.
        """
        if self.kind == "source":
            return kernelbench.load(self.text, "the reference", self.seed).model
        try:
            module = cloudpickle.loads(base64.b64decode(self.text))
        except Exception as error:
            raise SpecError(
                f"the pickled reference cannot be loaded here ({type(error).__name__}: {error}); "
                "install what it imports"
            ) from error
        assert isinstance(module, nn.Module)
        return module


def pickled(module: nn.Module, seed: int = 0) -> Reference:
    """A reference that carries a module, with the code that is not installed as a package.

    Raises:
        SpecError: The module cannot be pickled.
    """
    try:
        with local_code(module):
            data = cloudpickle.dumps(module)
    except Exception as error:
        raise SpecError(
            f"{type(module).__name__} cannot be pickled ({type(error).__name__}: {error}); "
            "write it as a KernelBench-format file instead"
        ) from error
    return Reference(kind="pickle", text=base64.b64encode(data).decode(), seed=seed)


@contextmanager
def local_code(module: nn.Module) -> Iterator[None]:
    """While it lasts, cloudpickle carries the module's code that no package installs."""
    packages = _local_packages(module)
    for package in packages:
        cloudpickle.register_pickle_by_value(package)
    try:
        yield
    finally:
        for package in packages:
            cloudpickle.unregister_pickle_by_value(package)


def _local_packages(module: nn.Module) -> list[ModuleType]:
    """Top-level packages of the module's code that another process might not find."""
    code: list[object] = [type(child) for child in module.modules()]
    code += [child.function for child in module.modules() if isinstance(child, FunctionModule)]
    names = {str(getattr(each, "__module__", "")).split(".")[0] for each in code}
    # __main__ is carried anyway, and whoever loads a reference has this package.
    found = (sys.modules.get(name) for name in sorted(names - {"", "__main__", "cutegen"}))
    return [package for package in found if package is not None and _is_local(package)]


def _is_local(package: ModuleType) -> bool:
    file = getattr(package, "__file__", None)
    installed = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    return file is not None and not any(Path(file).is_relative_to(path) for path in installed)


def module_state(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers in ``state_dict`` order, with the buffers it leaves out."""
    state: dict[str, Tensor] = {}
    for prefix, child in module.named_modules(remove_duplicate=False):
        dot = f"{prefix}." if prefix else ""
        for named in (child.named_parameters, child.named_buffers):
            own = named(recurse=False, remove_duplicate=False)
            state.update((f"{dot}{name}", tensor) for name, tensor in own)
    return state


@functools.lru_cache(maxsize=2)
def built_module(reference: Reference) -> nn.Module:
    """The module of a reference, built once; it is shared, so nobody may change it."""
    return reference.build()


def state_values(spec: "KernelSpec") -> dict[str, Tensor]:
    """Parameters and buffers as initialised, on the CPU, contiguous, by contract name."""
    arguments = spec.timed.of("parameter", "buffer")
    tensors = module_state(built_module(spec.reference)).values()
    return {
        argument.name: tensor.detach().contiguous()
        for argument, tensor in zip(arguments, tensors, strict=True)
    }


def state_keys(spec: "KernelSpec") -> tuple[str, ...]:
    """What the module calls its parameters and buffers, in contract order."""
    return tuple(module_state(built_module(spec.reference)))


def sample_inputs(spec: "KernelSpec", case: "Case", seed: int = 0) -> dict[str, Tensor]:
    """Valid values for the integer and bool inputs of a case, on the CPU, by contract name.

    They are the reference's own where those are small enough to be made, repeated or cut
    to the case's shape; in a scaled-down case they are wrapped at its smallest extent,
    since they may be indices. Otherwise they are drawn from {0, 1}. Floating inputs are
    the caller's to choose.
    """
    wanted = [tensor for tensor in case.of("input") if not tensor.dtype.is_floating]
    if not wanted:
        return {}
    own = own_inputs(spec)
    extents = [extent for tensor in case.tensors for extent in tensor.shape if extent > 1]
    generator = torch.Generator().manual_seed(seed)
    samples: dict[str, Tensor] = {}
    for tensor in wanted:
        if tensor.name in own:
            flat = own[tensor.name].reshape(-1)
            repeats = -(-tensor.numel // flat.numel())
            values = flat.repeat(repeats)[: tensor.numel].reshape(tensor.shape)
            if case.name != spec.timed.name and tensor.dtype.torch is not torch.bool:
                values = values % min(extents, default=2)
        else:
            values = torch.randint(0, 2, tensor.shape, generator=generator)
        samples[tensor.name] = values.to(tensor.dtype.torch)
    return samples


def own_inputs(spec: "KernelSpec") -> dict[str, Tensor]:
    """The tensors that the reference's ``get_inputs`` makes, or none if they are large."""
    arguments = spec.timed.of("input")
    nbytes = sum(argument.nbytes for argument in arguments)
    if spec.reference.kind != "source" or nbytes > _SMALL_INPUTS:
        return {}
    tensors = _given_tensors(spec.reference)
    return {argument.name: tensor for argument, tensor in zip(arguments, tensors, strict=True)}


@functools.lru_cache(maxsize=1)
def _given_tensors(reference: Reference) -> tuple[Tensor, ...]:
    """The tensors that ``get_inputs`` of a ``source`` returns, on the CPU."""
    loaded = kernelbench.load(reference.text, "the reference", reference.seed)
    with contained(reference.seed):
        given = kernelbench.call_get_inputs(loaded, "the reference")
    return tuple(value.detach().cpu() for value in given if isinstance(value, Tensor))


def evaluate(
    spec: "KernelSpec",
    tensors: Mapping[str, Tensor],
    *,
    precision: torch.dtype | None = None,
) -> tuple[Tensor, ...]:
    """Run the reference on given inputs, parameters and buffers, without gradients.

    Args:
        spec: The spec whose reference runs, with its own scalars.
        tensors: Every input, parameter and buffer by contract name, all on one device,
            where the reference then runs. None of them is changed.
        precision: Upcast every floating tensor to this type first; None runs as given,
            in the math mode that the caller has set.

    Returns:
        The outputs in order.
    """
    module = built_module(spec.reference)
    state_arguments = spec.timed.of("parameter", "buffer")

    def cast(tensor: Tensor) -> Tensor:
        floating = precision is not None and tensor.is_floating_point()
        return tensor.to(precision) if floating else tensor

    state = {
        key: cast(tensors[argument.name]).clone()  # batch norm updates its buffers in place
        if argument.role == "buffer"
        else cast(tensors[argument.name])
        for key, argument in zip(module_state(module), state_arguments, strict=True)
    }
    scalars: dict[str, object] = {scalar.name: scalar.value for scalar in spec.scalars}
    args = [
        scalars[argument.name] if argument.name in scalars else cast(tensors[argument.name])
        for argument in spec.arguments
    ]
    device = next(iter(tensors.values())).device
    with contained(), torch.no_grad(), torch.device(device):  # for tensors made in forward
        if precision is not None:
            torch.set_default_dtype(precision)
        outputs = torch.func.functional_call(module, state, tuple(args), tie_weights=False)
    return as_outputs(outputs)


def as_outputs(outputs: object) -> tuple[Tensor, ...]:
    """What ``forward`` returned as a tuple of tensors.

    Raises:
        SpecError: It is neither a tensor nor a flat tuple or list of tensors.
    """
    flat = outputs if isinstance(outputs, tuple | list) else (outputs,)
    if not flat or not all(isinstance(output, Tensor) for output in flat):
        kinds = ", ".join(type(output).__name__ for output in flat) or "nothing"
        raise SpecError(f"forward must return a tensor or a tuple of tensors, but returns {kinds}")
    return tuple(flat)
