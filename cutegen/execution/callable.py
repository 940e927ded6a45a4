"""A finished kernel as a Python callable on tensors, in this very process."""

import ctypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from cutegen.execution.cudart import ERROR_NOT_SUPPORTED
from cutegen.kernel import LAUNCH_SYMBOL, WORKSPACE_SYMBOL, fill_args
from cutegen.reference import evaluate, state_values
from cutegen.spec import Case, KernelSpec, ScalarArg, TensorArg

_ALIGNMENT = 16


class KernelCallable:
    """Called like the reference's ``forward``; allocates and returns the outputs.

    On ``cuda`` it takes CUDA tensors and launches on their device's current stream without
    waiting; on ``emulated`` it takes CPU tensors. No gradient flows through it.
    """

    def __init__(
        self, spec: KernelSpec, library: Path, executor: Literal["cuda", "emulated"]
    ) -> None:
        """Load ``library``, which must be built for ``executor``.

        Raises:
            OSError: The library cannot be loaded.
        """
        self.spec = spec
        self._device_type = "cuda" if executor == "cuda" else "cpu"
        loaded = ctypes.CDLL(str(library))
        self._launch = getattr(loaded, LAUNCH_SYMBOL)
        self._launch.restype = ctypes.c_int
        self._workspace_bytes = getattr(loaded, WORKSPACE_SYMBOL, None)
        if self._workspace_bytes is not None:
            self._workspace_bytes.restype = ctypes.c_size_t
        self._states: dict[torch.device, dict[str, Tensor]] = {}

    def __call__(
        self, *args: Tensor | float, state: Mapping[str, Tensor] | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Run the kernel.

        Args:
            *args: The arguments of ``forward``, in order.
            state: Parameters and buffers by contract name; those left out are the
                reference's initial ones.

        Returns:
            The output, or a tuple of outputs.

        Raises:
            TypeError: The number or kind of arguments is not the reference's.
            ValueError: A tensor has the wrong dtype, rank, device, layout or shape, or the
                kernel does not support the shapes.
            RuntimeError: The launch failed.
        """
        scalars, tensors = self._named(args)
        device = self._device(tensors)
        tensors = {**self._state(device), **(state or {}), **tensors}
        for argument in self.spec.timed.of("input", "parameter", "buffer"):
            _require(argument, tensors[argument.name], device)
        outputs = self._outputs(tensors, device)
        case = Case(name="call", tensors=tuple(self._shaped({**tensors, **outputs})))
        self._run(case, {**tensors, **outputs}, scalars, device)
        return next(iter(outputs.values())) if len(outputs) == 1 else tuple(outputs.values())

    def _named(
        self, args: tuple[Tensor | float, ...]
    ) -> tuple[dict[str, float], dict[str, Tensor]]:
        names = ", ".join(argument.name for argument in self.spec.arguments)
        if len(args) != len(self.spec.arguments):
            raise TypeError(f"{self.spec.name} takes ({names}), but {len(args)} arguments came")
        scalars: dict[str, float] = {}
        tensors: dict[str, Tensor] = {}
        for argument, value in zip(self.spec.arguments, args, strict=True):
            if isinstance(argument, ScalarArg) and not isinstance(value, Tensor):
                scalars[argument.name] = value
            elif isinstance(argument, TensorArg) and isinstance(value, Tensor):
                tensors[argument.name] = value
            else:
                wanted = "a number" if isinstance(argument, ScalarArg) else "a tensor"
                raise TypeError(f"{argument.name} must be {wanted}, not {type(value).__name__}")
        return scalars, tensors

    def _device(self, tensors: Mapping[str, Tensor]) -> torch.device:
        device = next(iter(tensors.values())).device
        if device.type != self._device_type:
            raise ValueError(
                f"this kernel runs on {self._device_type} tensors, but the first is on {device}"
            )
        return device

    def _state(self, device: torch.device) -> dict[str, Tensor]:
        if device not in self._states:
            self._states[device] = {
                name: tensor.to(device) for name, tensor in state_values(self.spec).items()
            }
        return self._states[device]

    def _outputs(self, tensors: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
        """Outputs of the shapes that the reference gives them, which may run on no data."""
        arguments = self.spec.timed.of("output")
        if all(
            tuple(tensors[known.name].shape) == known.shape
            for known in self.spec.timed.of("input", "parameter", "buffer")
        ):
            shapes = [argument.shape for argument in arguments]
        else:
            hollow = {name: tensor.to("meta") for name, tensor in tensors.items()}
            shapes = [tuple(output.shape) for output in evaluate(self.spec, hollow)]
        return {
            argument.name: torch.empty(shape, dtype=argument.dtype.torch, device=device)
            for argument, shape in zip(arguments, shapes, strict=True)
        }

    def _shaped(self, tensors: Mapping[str, Tensor]) -> Iterator[TensorArg]:
        for argument in self.spec.timed.tensors:
            yield argument.model_copy(update={"shape": tuple(tensors[argument.name].shape)})

    def _run(
        self,
        case: Case,
        tensors: Mapping[str, Tensor],
        scalars: Mapping[str, float],
        device: torch.device,
    ) -> None:
        on_gpu = device.type == "cuda"
        stream = torch.cuda.current_stream(device).cuda_stream if on_gpu else 0
        pointers = {name: tensor.data_ptr() for name, tensor in tensors.items()}
        arguments = fill_args(self.spec, case, pointers, scalars=scalars, stream=stream)
        nbytes = 0
        if self._workspace_bytes is not None:
            nbytes = int(self._workspace_bytes(ctypes.byref(arguments)))
        workspace = torch.empty(nbytes, dtype=torch.uint8, device=device)
        arguments.workspace = workspace.data_ptr() if nbytes else 0
        arguments.workspace_bytes = nbytes
        if on_gpu:
            with torch.cuda.device(device):
                code = int(self._launch(ctypes.byref(arguments)))
        else:
            code = int(self._launch(ctypes.byref(arguments)))
        if code == ERROR_NOT_SUPPORTED:
            shapes = ", ".join(f"{t.name} {list(t.shape)}" for t in case.of("input"))
            raise ValueError(f"this kernel does not support the shapes {shapes}")
        if code:
            raise RuntimeError(f"cutegen_launch returned cudaError_t {code}")


def load_callable(
    spec: KernelSpec, library: Path, executor_name: Literal["cuda", "emulated"]
) -> KernelCallable:
    """A kernel, built for ``executor_name``, as a callable on tensors.

    Raises:
        OSError: The library cannot be loaded.
    """
    return KernelCallable(spec, library, executor_name)


def _require(argument: TensorArg, tensor: Tensor, device: torch.device) -> None:
    """Refuse what the contract does not allow, naming the remedy."""
    name = argument.name
    if tensor.dtype != argument.dtype.torch:
        raise ValueError(f"{name} must be {argument.dtype.torch}, not {tensor.dtype}")
    if tensor.dim() != len(argument.shape):
        raise ValueError(f"{name} must have rank {len(argument.shape)}, not {tensor.dim()}")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, but the first tensor is on {device}")
    if not tensor.is_contiguous():
        raise ValueError(f"{name} must be contiguous: pass {name}.contiguous()")
    if tensor.data_ptr() % _ALIGNMENT:
        raise ValueError(f"{name} must be {_ALIGNMENT}-byte aligned: pass {name}.clone()")
