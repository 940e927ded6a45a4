"""Runs one CuTeGen kernel from PyTorch.

This file stands alone: it needs torch and the standard library, plus nvcc and CUTLASS where the
kernel must be built. CuTeGen itself uses it, and copies it as it is into whatever it exports.
"""

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

CUTEGEN_ERROR_NOT_SUPPORTED = 801  # cudaErrorNotSupported
CUTEGEN_ALIGNMENT = 16  # bytes; vectorized accesses count on it


class CutegenUnsupportedError(ValueError):
    """The kernel was not made for these arguments or this machine; the message names them."""


@dataclass(frozen=True)
class CutegenArgument:
    """One field of ``CutegenArgs``: a tensor's pointer with its shape, or a scalar."""

    name: str
    role: str  # input, scalar, parameter, buffer or output
    dtype: str  # of a tensor, as PyTorch spells it; double, int64_t or bool for a scalar
    rank: int = 0
    state_key: str = ""  # of a parameter or buffer: its name in the module


@dataclass(frozen=True)
class CutegenContract:
    """What a kernel takes and gives, in the order of its argument structure."""

    name: str
    arch: str  # the GPU architecture it was built for, such as sm_90a
    forward: tuple[str, ...]  # the arguments of the reference's forward, in order
    arguments: tuple[CutegenArgument, ...]

    @classmethod
    def from_json(cls, text: str) -> "CutegenContract":
        """Read what ``json.dumps(dataclasses.asdict(contract))`` wrote."""
        data = json.loads(text)
        arguments = tuple(CutegenArgument(**argument) for argument in data.pop("arguments"))
        return cls(**{**data, "forward": tuple(data["forward"]), "arguments": arguments})

    def of(self, *roles: str) -> tuple[CutegenArgument, ...]:
        """The arguments that have one of ``roles``."""
        return tuple(argument for argument in self.arguments if argument.role in roles)

    def structure(self) -> type[ctypes.Structure]:
        """``CutegenArgs`` for ctypes."""
        scalars = {"double": ctypes.c_double, "int64_t": ctypes.c_int64, "bool": ctypes.c_bool}
        fields: list[tuple[str, type]] = []
        for argument in self.arguments:
            if argument.role == "scalar":
                fields.append((argument.name, scalars[argument.dtype]))
                continue
            fields.append((argument.name, ctypes.c_void_p))
            if argument.rank:
                fields.append((f"{argument.name}_shape", ctypes.c_int64 * argument.rank))
        fields += [("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t)]
        fields += [("stream", ctypes.c_void_p)]
        return type("CutegenArgs", (ctypes.Structure,), {"_fields_": fields})


CutegenShapes = Callable[[Mapping[str, Tensor | float]], Sequence[tuple[int, ...]]]
"""The shapes of the outputs, from inputs, scalars and state by name; it may read no data."""


class CutegenKernel:
    """A built kernel, called like the reference's ``forward``.

    CUDA tensors launch on their device's current stream, without waiting; it can be captured
    in a CUDA graph. CPU tensors need an emulated build.
    """

    def __init__(
        self,
        contract: CutegenContract,
        library: Callable[[torch.device], Path],
        output_shapes: CutegenShapes,
    ) -> None:
        """Keep what is needed; nothing is loaded before the first call.

        Args:
            contract: What the kernel takes and gives.
            library: The shared object for a device; raises ``CutegenUnsupportedError`` if
                there can be none.
            output_shapes: Called once for each new combination of shapes.
        """
        self.contract = contract
        self._library = library
        self._output_shapes = output_shapes
        self._shapes: dict[tuple[object, ...], Sequence[tuple[int, ...]]] = {}
        self._loaded: dict[torch.device, ctypes.CDLL] = {}
        self._structure = contract.structure()

    def __call__(
        self, args: Sequence[Tensor | float], state: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        """Run the kernel.

        Args:
            args: The arguments of ``forward``, in order.
            state: Every parameter and buffer by the name of its field.

        Returns:
            The outputs, in order.

        Raises:
            TypeError: The number or kind of arguments is not the reference's.
            CutegenUnsupportedError: A tensor has the wrong dtype, rank, device, layout or shape.
            RuntimeError: The launch failed.
        """
        values = {**self._named(args), **state}
        device = next(each.device for each in values.values() if isinstance(each, Tensor))
        for argument in self.contract.of("input", "parameter", "buffer"):
            _cutegen_require(argument, values[argument.name], device)
        loaded = self._on(device)
        outputs = self._empty_outputs(values, device)
        self._launch(loaded, {**values, **outputs}, device)
        return tuple(outputs.values())

    def _named(self, args: Sequence[Tensor | float]) -> dict[str, Tensor | float]:
        name, names = self.contract.name, self.contract.forward
        if len(args) != len(names):
            raise TypeError(f"{name} takes ({', '.join(names)}), but {len(args)} arguments came")
        scalars = {argument.name for argument in self.contract.of("scalar")}
        for each, value in zip(names, args, strict=True):
            if isinstance(value, Tensor) is (each in scalars):
                wanted = "a number" if each in scalars else "a tensor"
                raise TypeError(f"{each} must be {wanted}, not {type(value).__name__}")
        return dict(zip(names, args, strict=True))

    def _on(self, device: torch.device) -> ctypes.CDLL:
        if device not in self._loaded:
            library = ctypes.CDLL(str(self._library(device)))
            library.cutegen_launch.restype = ctypes.c_int
            if hasattr(library, "cutegen_workspace_bytes"):
                library.cutegen_workspace_bytes.restype = ctypes.c_size_t
            self._loaded[device] = library
        return self._loaded[device]

    def _empty_outputs(
        self, values: Mapping[str, Tensor | float], device: torch.device
    ) -> dict[str, Tensor]:
        key = tuple(each.shape if isinstance(each, Tensor) else each for each in values.values())
        if key not in self._shapes:
            self._shapes[key] = self._output_shapes(values)
        return {
            argument.name: torch.empty(shape, dtype=getattr(torch, argument.dtype), device=device)
            for argument, shape in zip(self.contract.of("output"), self._shapes[key], strict=True)
        }

    def _launch(
        self, library: ctypes.CDLL, values: Mapping[str, Tensor | float], device: torch.device
    ) -> None:
        record = self._structure()
        for name, value in values.items():
            if isinstance(value, Tensor):
                setattr(record, name, value.data_ptr())
                if value.dim():
                    setattr(record, f"{name}_shape", (ctypes.c_int64 * value.dim())(*value.shape))
            else:
                setattr(record, name, value)
        reference = ctypes.byref(record)
        with torch.cuda.device(device if device.type == "cuda" else -1):
            nbytes = 0
            if hasattr(library, "cutegen_workspace_bytes"):
                nbytes = int(library.cutegen_workspace_bytes(reference))
            workspace = torch.empty(nbytes, dtype=torch.uint8, device=device)
            record.workspace = workspace.data_ptr() if nbytes else 0
            record.workspace_bytes = nbytes
            if device.type == "cuda":
                record.stream = torch.cuda.current_stream(device).cuda_stream
            code = int(library.cutegen_launch(reference))
        if code == CUTEGEN_ERROR_NOT_SUPPORTED:
            shapes = ", ".join(
                f"{each.name} {list(values[each.name].shape)}"  # type: ignore[union-attr]
                for each in self.contract.of("input")
            )
            raise CutegenUnsupportedError(f"this kernel does not support the shapes {shapes}")
        if code:
            raise RuntimeError(f"cutegen_launch returned cudaError_t {code}")


def _cutegen_require(
    argument: CutegenArgument, value: Tensor | float, device: torch.device
) -> None:
    """Refuse what the contract does not allow, naming the remedy."""
    assert isinstance(value, Tensor)
    name, dtype = argument.name, getattr(torch, argument.dtype)
    if value.dtype != dtype:
        raise CutegenUnsupportedError(f"{name} must be {dtype}, not {value.dtype}")
    if value.dim() != argument.rank:
        raise CutegenUnsupportedError(f"{name} must have rank {argument.rank}, not {value.dim()}")
    if value.device != device:
        raise CutegenUnsupportedError(
            f"{name} is on {value.device}, but the first tensor is on {device}"
        )
    if not value.is_contiguous():
        raise CutegenUnsupportedError(f"{name} must be contiguous: pass {name}.contiguous()")
    if value.data_ptr() % CUTEGEN_ALIGNMENT:
        raise CutegenUnsupportedError(
            f"{name} must be {CUTEGEN_ALIGNMENT}-byte aligned: pass {name}.clone()"
        )
