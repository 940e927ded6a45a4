"""Comparing one output with its float64 reference, in chunks, for tensors of any size."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt

import torch
from torch import Tensor

from cutegen.spec import TensorArg
from cutegen.verification.precision import ELEMENT_FACTOR, Tolerance
from cutegen.verification.sensitivity import Sway
from cutegen.verification.verdict import ErrorMeasure

_CHUNK = 1 << 26  # elements; a chunk in float64 is half a gigabyte


@dataclass(frozen=True)
class Target:
    """What one output should be.

    ``exact`` is the float64 result (integers as they are), ``native`` is PyTorch's own at
    the math mode, ``sway`` how far the float64 result moves when the inputs do by a roundoff.
    Without a ``tolerance`` values must be equal.
    """

    tensor: TensorArg
    exact: Tensor
    native: Tensor
    sway: Sway
    tolerance: Tolerance | None


@dataclass(frozen=True)
class Comparison:
    """The verdict on one output.

    ``spread`` is the share of elements whose own relative error is at least an eighth of
    the whole tensor's: near zero for a few wrong elements, large for lost precision. An
    element may err by ``slack`` plus ``relative`` times what it should be.
    """

    measure: ErrorMeasure
    sensitivity: float
    spread: float
    nonfinite: int  # elements that are NaN or infinite and should not be
    slack: float = 0.0
    relative: float = 0.0

    @property
    def within_bounds(self) -> bool:
        """Whether the norm and every element are within their bounds."""
        measure = self.measure
        return measure.error <= measure.bound and measure.bad_count == 0


@dataclass
class _Sums:
    """Running sums of squares over chunks, largest errors, and counts."""

    reference: float = 0.0
    error: float = 0.0
    native: float = 0.0
    worst: float = 0.0
    worst_native: float = 0.0
    nonfinite: int = 0
    special_faults: int = 0
    count: int = 0


def compare(check: str, output: Tensor, target: Target) -> Comparison:
    """Compare ``output`` (any device) with its target. Never raises for what is in it."""
    if target.tolerance is None:
        return _compare_equal(check, output, target)
    sums = _accumulate(output, target)
    norm = max(sqrt(sums.reference), sqrt(max(sums.count, 1)) * _tiny(output))
    wrong = sums.nonfinite + sums.special_faults
    error = inf if wrong else sqrt(sums.error) / norm
    native, sensitivity = sqrt(sums.native) / norm, sqrt(target.sway.squares) / norm
    floor, amplification = target.tolerance.floor, target.tolerance.amplification
    bound = target.tolerance.bound(native, sensitivity)
    rms = norm / sqrt(max(sums.count, 1))
    slack = ELEMENT_FACTOR * (
        sums.worst_native + target.sway.worst * amplification / 2 + floor * rms
    )
    bad_count, first, erring = _bad_elements(
        output, target, slack, ELEMENT_FACTOR * floor, error / 8
    )
    return Comparison(
        measure=ErrorMeasure(
            check=check,
            output=target.tensor.name,
            error=_jsonable(error),
            torch_error=native,
            bound=bound,
            max_abs_error=_jsonable(inf if wrong else sums.worst),
            bad_count=bad_count,
            total=output.numel(),
            first_bad_index=_unravel(first, target.tensor.shape),
        ),
        sensitivity=sensitivity,
        spread=erring / max(sums.count, 1),
        nonfinite=sums.nonfinite,
        slack=slack,
        relative=ELEMENT_FACTOR * floor,
    )


def _accumulate(output: Tensor, target: Target) -> _Sums:
    sums = _Sums()
    for _, out, exact, native in _chunks(output, target):
        special, fault = _special(out, exact, native, output.dtype)
        stray = ~special & ~torch.isfinite(out)
        plain = ~special & ~stray
        sums.special_faults += int(fault.sum())
        sums.nonfinite += int(stray.sum())
        sums.count += int(plain.sum())
        if not bool(plain.any()):
            continue
        zero = torch.zeros((), dtype=torch.float64, device=out.device)
        error = torch.where(plain, out - exact, zero).abs()
        sums.reference += float(torch.where(plain, exact, zero).square().sum())
        sums.error += float(error.square().sum())
        sums.worst = max(sums.worst, float(error.max()))
        error = torch.where(plain, native - exact, zero).abs()
        sums.native += float(error.square().sum())
        sums.worst_native = max(sums.worst_native, float(error.max()))
    return sums


def _bad_elements(
    output: Tensor, target: Target, slack: float, relative: float, noticeable: float
) -> tuple[int, int | None, int]:
    """Count elements out of bounds, find the first, and count noticeably erring ones."""
    count, first, erring = 0, None, 0
    for start, out, exact, native in _chunks(output, target):
        special, fault = _special(out, exact, native, output.dtype)
        distance = (out - exact).abs()
        far = ~(distance <= slack + relative * exact.abs())  # NaN is far
        bad = fault | (~special & far)
        here = int(bad.sum())
        if here and first is None:
            first = start + int(torch.nonzero(bad)[0])
        count += here
        erring += int((~special & (distance > noticeable * exact.abs()) & (distance > 0)).sum())
    return count, first, erring


def _special(
    out: Tensor, exact: Tensor, native: Tensor, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Where the reference is NaN or infinite in the output's type, and where ``out`` differs.

    Near the overflow threshold PyTorch and float64 may disagree: either answer will do.
    """
    stored = exact.to(dtype).double()
    special = ~(torch.isfinite(stored) & torch.isfinite(native))
    agrees = (
        (out == stored)
        | (out == native)
        | (torch.isnan(out) & (torch.isnan(stored) | torch.isnan(native)))
    )
    return special, special & ~agrees


def _chunks(output: Tensor, target: Target) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
    """Start index, then output, exact and native as flat float64 chunks."""
    flat = [part.reshape(-1) for part in (output, target.exact, target.native)]
    for start in range(0, output.numel(), _CHUNK):
        out, exact, native = (part[start : start + _CHUNK].double() for part in flat)
        yield start, out, exact, native


def _compare_equal(check: str, output: Tensor, target: Target) -> Comparison:
    """Values must equal the float64 result or PyTorch's: near ties integers may differ."""
    out = output.reshape(-1)
    if out.dtype == torch.bool:
        out = out.view(torch.uint8)  # a poisoned byte is no truth value; compare it as a number
    wide = torch.float64 if out.is_floating_point() else torch.int64
    out = out.to(wide)
    exact, native = (part.reshape(-1).to(wide) for part in (target.exact, target.native))
    bad = (out != exact) & (out != native)
    count = int(bad.sum())
    first = int(torch.nonzero(bad)[0]) if count else None
    nonfinite = int((~torch.isfinite(out)).sum()) if out.is_floating_point() else 0
    distance = (out - exact).abs()
    worst = inf if nonfinite else float(distance.max()) if count else 0.0
    return Comparison(
        measure=ErrorMeasure(
            check=check,
            output=target.tensor.name,
            error=count / max(out.numel(), 1),
            torch_error=0.0,
            bound=0.0,
            max_abs_error=_jsonable(worst),
            bad_count=count,
            total=out.numel(),
            first_bad_index=_unravel(first, target.tensor.shape),
        ),
        sensitivity=0.0,
        spread=0.0,
        nonfinite=nonfinite,
    )


def _unravel(index: int | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    if index is None:
        return ()
    position: list[int] = []
    for extent in reversed(shape):
        index, rest = divmod(index, extent)
        position.append(rest)
    return tuple(reversed(position))


def _tiny(output: Tensor) -> float:
    return torch.finfo(output.dtype).tiny


def _jsonable(value: float) -> float:
    """JSON has no infinity; the largest double stands for it."""
    return min(value, torch.finfo(torch.float64).max)
