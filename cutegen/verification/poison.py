"""Poison: what outputs hold before a launch, so that an unwritten element is recognised."""

from dataclasses import dataclass

import torch
from torch import Tensor

from cutegen.spec import DType
from cutegen.verification.comparison import Target

_FLOAT_POISON = 0xFF  # a NaN in every floating type, and not the NaN that arithmetic makes
_INTEGER_POISON = 0xA5
_CHUNK = 1 << 28  # bytes looked at together: a comparison makes a temporary of that size


@dataclass(frozen=True)
class Unwritten:
    """How many elements still hold poison; ``is_tail`` when they are exactly the last ones."""

    count: int
    total: int
    first: int
    is_tail: bool


def poison_byte(dtype: DType) -> int:
    """The byte that fills an output of ``dtype`` before each launch."""
    return _FLOAT_POISON if dtype.is_floating else _INTEGER_POISON


def raw(tensor: Tensor) -> Tensor:
    """The bytes of a contiguous tensor, as a flat view."""
    return tensor.reshape(-1).view(torch.uint8)


def same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two contiguous tensors hold the same bytes; NaN equals itself."""
    left, right = raw(one), raw(other)
    return len(left) == len(right) and all(
        torch.equal(left[start : start + _CHUNK], right[start : start + _CHUNK])
        for start in range(0, len(left), _CHUNK)
    )


def unwritten(output: Tensor, target: Target) -> Unwritten:
    """Find elements that hold poison where the reference does not."""
    dtype = target.tensor.dtype
    count, first, total = 0, -1, output.numel()
    if not total:
        return Unwritten(0, 0, -1, is_tail=False)
    step = _CHUNK // dtype.itemsize
    exact = target.exact.reshape(-1)
    for start in range(0, total, step):
        part = raw(output.reshape(-1)[start : start + step]).reshape(-1, dtype.itemsize)
        left = (part == poison_byte(dtype)).all(dim=1)
        if not dtype.is_floating:
            wanted = exact[start : start + step].to(dtype.torch)
            left &= (raw(wanted).reshape(-1, dtype.itemsize) != poison_byte(dtype)).any(dim=1)
        here = int(left.sum())
        if here and first < 0:
            first = start + int(torch.nonzero(left)[0])
        count += here
    return Unwritten(count, total, first, is_tail=count > 0 and first + count == total)
