"""A finished kernel as a Python callable on tensors, in this very process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from cutegen.export.contract import contract_of
from cutegen.export.runtime import CutegenKernel, CutegenUnsupportedError
from cutegen.reference import evaluate, state_values
from cutegen.spec import KernelSpec


class KernelCallable:
    """Called like the reference's ``forward``; allocates and returns the outputs.

    On ``cuda`` it takes CUDA tensors and launches on their device's current stream without
    waiting; on ``emulated`` it takes CPU tensors. No gradient flows through it.
    """

    def __init__(
        self, spec: KernelSpec, library: Path, executor: Literal["cuda", "emulated"]
    ) -> None:
        """Take a ``library`` that was built for ``executor``; it is loaded by the first call."""
        self.spec = spec
        self._library = library
        self._device_type = "cuda" if executor == "cuda" else "cpu"
        self._kernel = CutegenKernel(contract_of(spec), self._library_for, self._output_shapes)
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
            CutegenUnsupportedError: A tensor has the wrong dtype, rank, device, layout or shape.
            OSError: The library cannot be loaded.
            RuntimeError: The launch failed.
        """
        outputs = self._kernel(args, {**self._initial_state(args), **(state or {})})
        return outputs[0] if len(outputs) == 1 else outputs

    def _library_for(self, device: torch.device) -> Path:
        if device.type != self._device_type:
            raise CutegenUnsupportedError(
                f"this kernel runs on {self._device_type} tensors, but the first is on {device}"
            )
        return self._library

    def _initial_state(self, args: tuple[Tensor | float, ...]) -> dict[str, Tensor]:
        tensors = (value for value in args if isinstance(value, Tensor))
        device = next((tensor.device for tensor in tensors), torch.device(self._device_type))
        if device not in self._states:
            self._states[device] = {
                name: tensor.to(device) for name, tensor in state_values(self.spec).items()
            }
        return self._states[device]

    def _output_shapes(self, values: Mapping[str, Tensor | float]) -> list[tuple[int, ...]]:
        """The shapes that the reference gives its outputs, found without data."""
        hollow = {
            name: value.to("meta") for name, value in values.items() if isinstance(value, Tensor)
        }
        return [tuple(output.shape) for output in evaluate(self.spec, hollow)]


def load_callable(
    spec: KernelSpec, library: Path, executor_name: Literal["cuda", "emulated"]
) -> KernelCallable:
    """A kernel, built for ``executor_name``, as a callable on tensors."""
    return KernelCallable(spec, library, executor_name)
