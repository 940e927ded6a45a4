"""How far the exact result moves when the inputs move by less than a float can show."""

from collections.abc import Mapping, Sequence
from math import sqrt

import torch
from torch import Tensor

from cutegen.frozen import Frozen
from cutegen.reference import evaluate
from cutegen.spec import KernelSpec
from cutegen.verification.inputs import perturb

_CHUNK = 1 << 26  # elements; a chunk in float64 is half a gigabyte


class Sway(Frozen):
    """Movement of one output: sum of squares, and the largest of one element."""

    squares: float = 0.0
    worst: float = 0.0

    @classmethod
    def assumed(cls, relative: float, exact: Tensor) -> "Sway":
        """The movement of an output, if it moves by ``relative`` of its 2-norm, evenly."""
        if not exact.is_floating_point():
            return cls()
        flat = exact.reshape(-1)
        squares = sum(
            float(flat[start : start + _CHUNK].nan_to_num(0.0, 0.0, 0.0).square().sum())
            for start in range(0, len(flat), _CHUNK)
        )
        rms = sqrt(squares / max(len(flat), 1))
        return cls(squares=relative**2 * squares, worst=relative * rms)


def sways(
    spec: KernelSpec,
    inputs: Mapping[str, Tensor],
    exact: Sequence[Tensor],
    roundoff: float,
    seed: int,
) -> tuple[Sway, ...]:
    """Evaluate the reference in float64 on inputs that are perturbed by one roundoff.

    The moved inputs and outputs take as much memory as a float64 evaluation, for as long as
    this runs; only two numbers per output are kept.

    Raises:
        torch.cuda.OutOfMemoryError: The device cannot hold them.
    """
    moved = evaluate(spec, perturb(inputs, roundoff, seed), precision=torch.float64)
    return tuple(_sway(*pair) for pair in zip(moved, exact, strict=True))


def _sway(moved: Tensor, exact: Tensor) -> Sway:
    if not exact.is_floating_point():
        return Sway()
    squares, worst = 0.0, 0.0
    left, right = moved.reshape(-1), exact.reshape(-1)
    for start in range(0, exact.numel(), _CHUNK):
        there, here = left[start : start + _CHUNK], right[start : start + _CHUNK]
        distance = (there - here).abs()
        distance = torch.where(torch.isfinite(distance), distance, torch.zeros_like(distance))
        squares += float(distance.square().sum())
        worst = max(worst, float(distance.max()))
    return Sway(squares=squares, worst=worst)
