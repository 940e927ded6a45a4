"""Poison: what outputs hold before a launch, so that an unwritten element is recognised."""

from dataclasses import dataclass

import torch
from torch import Tensor

from cutegen.verification.comparison import Target

# As 16-bit words a NaN in every floating type: not the NaN that arithmetic makes, nor that of
# poisoned workspaces, guard bands or the emulator's shared memory, which kernels may pass on.
_FLOAT_POISON = -0x10
_INTEGER_POISON = 0xA5  # each byte
_CHUNK = 1 << 28  # bytes looked at together: a comparison makes a temporary of that size


@dataclass(frozen=True)
class Unwritten:
    """How many elements still hold poison; ``is_tail`` when they are exactly the last ones."""

    count: int
    total: int
    first: int
    is_tail: bool


def poison(output: Tensor) -> None:
    """Overwrite a contiguous output, of any dtype, before a launch."""
    if output.dtype.is_floating_point:
        output.reshape(-1).view(torch.int16).fill_(_FLOAT_POISON)
    else:
        raw(output).fill_(_INTEGER_POISON)


def _is_poison(flat: Tensor) -> Tensor:
    """Which elements of a flat tensor hold poison, as bools."""
    floating = flat.dtype.is_floating_point
    words = flat.view(torch.int16 if floating else torch.uint8).reshape(len(flat), -1)
    return (words == (_FLOAT_POISON if floating else _INTEGER_POISON)).all(dim=1)


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
        left = _is_poison(output.reshape(-1)[start : start + step])
        if not dtype.is_floating:
            left &= ~_is_poison(exact[start : start + step].to(dtype.torch))
        here = int(left.sum())
        if here and first < 0:
            first = start + int(torch.nonzero(left)[0])
        count += here
    return Unwritten(count, total, first, is_tail=count > 0 and first + count == total)
