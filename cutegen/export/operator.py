"""Makes an exported kernel an operator of PyTorch.

It works under ``torch.compile`` and in CUDA graphs, and as a module that keeps the reference's
parameters. This file stands alone, like ``runtime.py``, and is copied with it.
"""

import copy
import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from .libraries import CutegenLibraries
from .runtime import (
    CUTEGEN_ALIGNMENT,
    CutegenArgument,
    CutegenContract,
    CutegenKernel,
    CutegenUnsupportedError,
)

_SCHEMA_TYPES = {"double": "float", "int64_t": "int", "bool": "bool"}


class _Function(nn.Module):
    """A plain function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: object) -> object:
        return self.function(*args)


def load_reference(package: str, folder: Path, seed: int) -> nn.Module:
    """The PyTorch module that the kernel replaces, as it was when the kernel was made."""
    pickled = folder / "reference.pkl"
    if pickled.exists():
        loaded = pickle.loads(pickled.read_bytes())  # noqa: S301 - shipped beside this very code
        return loaded if isinstance(loaded, nn.Module) else _Function(loaded)
    code = import_module(f"{package}.reference")
    args, keywords = _init_inputs(
        code.get_init_inputs() if hasattr(code, "get_init_inputs") else ()
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = code.Model(*args, **keywords)
    assert isinstance(model, nn.Module)
    return model


def _init_inputs(given: object) -> tuple[Sequence[object], dict[str, object]]:
    """KernelBench's three spellings: ``[args]``, ``{keywords}`` and ``[[args], {keywords}]``."""
    match given:
        case [list() | tuple() as args, dict() as keywords]:
            return args, keywords
        case dict():
            return (), given
        case list() | tuple():
            return given, {}
    return (), {}


class ExportedKernel:
    """One kernel as ``torch.ops.cutegen.NAME``, called like the reference's ``forward``.

    ``on_unsupported`` says what happens on shapes, dtypes or devices that the kernel was not
    made for: ``raise`` a ``CutegenUnsupportedError``, or ``fallback`` to the reference with one
    warning for each reason. It may be changed at any time. No gradient flows through it.
    """

    def __init__(
        self,
        contract: CutegenContract,
        libraries: CutegenLibraries,
        reference: nn.Module,
        identity: str,
    ) -> None:
        """Register the operator.

        Args:
            contract: What the kernel takes and gives.
            libraries: Where its shared objects are.
            reference: The module it replaces, with its parameters.
            identity: What tells it from every other kernel of the same name.
        """
        self.contract = contract
        self.reference = reference.requires_grad_(requires_grad=False).eval()
        self.on_unsupported: Literal["raise", "fallback"] = "raise"
        self._kernel = CutegenKernel(contract, libraries, self._output_shapes)
        self._told: set[str] = set()
        self._state = contract.of("parameter", "buffer")
        name = re.sub(r"\W", "_", f"{contract.name}_{identity}").strip("_").lower()
        name = name if name[0].isalpha() else f"kernel_{name}"
        self.op = torch.library.custom_op(
            f"cutegen::{name}", self._run, mutates_args=(), schema=self._schema()
        )
        self.op.register_fake(self._fake)
        self.op.register_autograd(self._no_gradient)

    def __call__(self, *args: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        """Run the kernel with the reference's own parameters."""
        device = next(arg.device for arg in args if isinstance(arg, Tensor))
        outputs = self.op(*args, *(each.to(device) for each in self._state_of(self.reference)))
        return tuple(outputs) if isinstance(outputs, list) else outputs

    def module(self) -> nn.Module:
        """A copy of the reference whose ``forward`` is the kernel; same ``state_dict``."""
        module = copy.deepcopy(self.reference)
        original = type(module)
        signature = inspect.signature(module.forward)
        count = len(self.contract.forward)

        def forward(own: nn.Module, *args: object, **keywords: object) -> object:
            if keywords or len(args) != count:
                bound = signature.bind(*args, **keywords)
                bound.apply_defaults()
                args = bound.args
            return self.op(*args, *self._state_of(own))

        module.__class__ = type(f"Cutegen{original.__name__}", (original,), {"forward": forward})
        return module

    def _state_of(self, module: nn.Module) -> list[Tensor]:
        found: list[Tensor] = []
        for argument in self._state:
            value: object = module
            for part in argument.state_key.split("."):
                value = getattr(value, part)
            assert isinstance(value, Tensor)
            found.append(value)
        return found

    def _schema(self) -> str:
        forward = {argument.name: argument for argument in self.contract.arguments}
        taken = [forward[name] for name in self.contract.forward] + list(self._state)
        parameters = ", ".join(f"{_schema_type(each)} {each.name}" for each in taken)
        outputs = ", ".join("Tensor" for _ in self.contract.of("output"))
        return f"({parameters}) -> {f'({outputs})' if ',' in outputs else outputs}"

    def _run(self, *args: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        count = len(self.contract.forward)
        fit = [_fit(arg) if isinstance(arg, Tensor) else arg for arg in args]
        state = {
            argument.name: value
            for argument, value in zip(self._state, fit[count:], strict=True)
            if isinstance(value, Tensor)
        }
        try:
            outputs = self._kernel(fit[:count], state)
        except CutegenUnsupportedError as error:
            if self.on_unsupported == "raise":
                raise
            if str(error) not in self._told:
                self._told.add(str(error))
                warnings.warn(f"{self.contract.name} falls back to PyTorch: {error}", stacklevel=2)
            given = self._reference_outputs(args)
            outputs = tuple(each.clone(memory_format=torch.contiguous_format) for each in given)
        return outputs[0] if len(outputs) == 1 else outputs

    def _fake(self, *args: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        """What the reference would give, without data: any shapes, symbolic ones too."""
        outputs = tuple(
            torch.empty(each.shape, dtype=each.dtype, device=each.device)
            for each in self._reference_outputs(args)
        )
        return outputs[0] if len(outputs) == 1 else outputs

    def _reference_outputs(self, args: Sequence[Tensor | float]) -> tuple[Tensor, ...]:
        count = len(self.contract.forward)
        state = {
            each.state_key: value
            for each, value in zip(self._state, args[count:], strict=True)
            if isinstance(value, Tensor)
        }
        with torch.no_grad():
            outputs = torch.func.functional_call(self.reference, state, tuple(args[:count]))
        return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)

    def _output_shapes(self, values: Mapping[str, Tensor | float]) -> list[tuple[int, ...]]:
        order = (*self.contract.forward, *(each.name for each in self._state))
        hollow = [
            value.to("meta") if isinstance(value, Tensor) else value
            for value in (values[name] for name in order)
        ]
        return [tuple(output.shape) for output in self._reference_outputs(hollow)]

    def _no_gradient(self, *_: object) -> None:
        raise RuntimeError(
            f"{self.contract.name} is an inference kernel: no gradient flows through it. Call it "
            "under torch.no_grad(), or use the reference where you train"
        )


def _schema_type(argument: CutegenArgument) -> str:
    return _SCHEMA_TYPES[argument.dtype] if argument.role == "scalar" else "Tensor"


def _fit(tensor: Tensor) -> Tensor:
    """Contiguous and aligned, as the kernel needs it; copied only if it is not."""
    tensor = tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % CUTEGEN_ALIGNMENT else tensor
