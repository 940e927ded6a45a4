"""Changing a few inputs before every timed call, so that no call may answer from memory.

A candidate that keeps results, by pointer, by phase or by a cheap look at its inputs, then
leaves outputs that another process, which starts from the final inputs, does not get.
"""

import random
from collections.abc import Mapping

import torch
from torch import Tensor

from cutegen.execution.memory import Layout
from cutegen.spec import TensorArg
from cutegen.verification.poison import raw

_PER_TENSOR = 2  # each costs the host some microseconds outside of the timed interval
_LEAST_PARAMETER = 0.1  # parameters stay positive: some are variances


class Changes:
    """What was changed since the inputs of a case were laid out, in order."""

    def __init__(self, layout: Layout) -> None:
        """Choose among the floating inputs and parameters of ``layout``'s case."""
        self._layout = layout
        self._random = random.SystemRandom()
        self._made: list[tuple[str, int, Tensor]] = []

    def draw(self) -> list[tuple[int, str]]:
        """New values at random places: offsets into the arena, and bytes as hex."""
        drawn = []
        for tensor in self._layout.case.of("input", "parameter"):
            if not tensor.dtype.is_floating or not tensor.numel:
                continue
            for _ in range(_PER_TENSOR):
                index, value = self._random.randrange(tensor.numel), self._value(tensor)
                self._made.append((tensor.name, index, value))
                offset = self._layout.offsets[tensor.name] + index * tensor.dtype.itemsize
                drawn.append((offset, bytes(raw(value).tolist()).hex()))
        return drawn

    def apply(self, inputs: Mapping[str, Tensor]) -> None:
        """Make the same changes, in place, to contiguous tensors."""
        for name, index, value in self._made:
            inputs[name].view(-1)[index] = value[0].to(inputs[name].device)

    def _value(self, tensor: TensorArg) -> Tensor:
        value = self._random.gauss(0, 1)
        if tensor.role == "parameter":
            value = abs(value) + _LEAST_PARAMETER
        return torch.tensor([value], dtype=tensor.dtype.torch)
