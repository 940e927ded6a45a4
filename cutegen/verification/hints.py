"""What a wrong output looks like: patterns that point a diagnostician at the mistake."""

from math import sqrt

import torch
from torch import Tensor

from cutegen.verification.comparison import Comparison, Target

_LOOKS_AT_MOST = 1 << 24  # elements; patterns show on small cases as well as on large ones
_NEARLY = 1e-3  # relative distance at which a pattern counts as met
_MOST = 0.9
_LOWER_PRECISIONS = (("TF32 or fp16", 2.0**-11), ("bf16", 2.0**-8))
_DOWNGRADE_LARGEST_ERROR = 2e-2
_DOWNGRADE_LEAST_SPREAD = 0.05
_DOWNGRADE_LEAST_RATIO = 2.0**9  # roundoffs: between fp32's own noise and TF32's
_DOWNGRADE_LARGEST_RATIO = 2.0**19


def lost_precision(comparison: Comparison, target: Target) -> str:
    """Which lower precision an error looks like; empty when it looks like a mistake.

    An error of lost precision is small, is carried by many elements, and is what the inputs'
    own uncertainty would make if they had that precision.
    """
    measure = comparison.measure
    if (
        target.tolerance is None
        or measure.error > _DOWNGRADE_LARGEST_ERROR
        or measure.error <= measure.bound
        or comparison.spread < _DOWNGRADE_LEAST_SPREAD
    ):
        return ""
    working = target.tolerance.working
    ratio = measure.error / max(comparison.sensitivity, working / 4)
    if not _DOWNGRADE_LEAST_RATIO <= ratio <= _DOWNGRADE_LARGEST_RATIO:
        return ""
    roundoff = ratio * working
    return min(_LOWER_PRECISIONS, key=lambda known: abs(known[1] - roundoff) / known[1])[0]


def describe_wrong(comparison: Comparison, output: Tensor, target: Target) -> tuple[str, ...]:
    """Patterns in a wrong output, most telling first."""
    measure = comparison.measure
    hints: list[str] = []
    if comparison.nonfinite:
        hints.append(
            f"{comparison.nonfinite} of {measure.total} elements are NaN or infinite where the "
            "reference is finite: uninitialised memory, a read out of bounds, or an overflow"
        )
    if measure.total > _LOOKS_AT_MOST or not measure.total or not target.exact.is_floating_point():
        return tuple(hints)
    exact, out = target.exact, output.double()
    if not bool(out.any()):
        hints.append("every element is zero")
    elif bool((out == out.reshape(-1)[0]).all()) and measure.total > 1:
        hints.append("every element has the same value")
    elif bool(torch.isfinite(out).all()):
        hints.extend(_resemblance(out, exact))
    hints.extend(_whereabouts(comparison, out, target))
    return tuple(hints)


def _resemblance(out: Tensor, exact: Tensor) -> list[str]:
    exact = exact.nan_to_num(0.0, 0.0, 0.0)
    norm = sqrt(float(exact.square().sum()))
    if not norm:
        return []
    factor = float((out * exact).sum()) / norm**2
    if abs(factor - 1) > _NEARLY and _near(out, exact * factor, norm * abs(factor)):
        return [f"the output is the reference times {factor:.6g}"]
    if out.dim() > 1:
        turned = exact.transpose(-1, -2).reshape(out.shape)
        if _near(out, turned, norm):
            return ["the output is the reference with its last two dimensions transposed"]
    return []


def _near(one: Tensor, other: Tensor, norm: float) -> bool:
    return sqrt(float((one - other).square().sum())) <= _NEARLY * norm


def _whereabouts(comparison: Comparison, out: Tensor, target: Target) -> list[str]:
    """Whether the bad elements are everywhere, a tail, or some rows or columns."""
    measure = comparison.measure
    if measure.bad_count >= _MOST * measure.total:
        return ["nearly every element is wrong: the formula or the layout, not an edge"]
    rms = sqrt(float(target.exact.nan_to_num(0.0, 0.0, 0.0).square().mean()))
    bad = ~((out - target.exact).abs() <= _NEARLY * (rms + target.exact.abs()))
    positions = torch.nonzero(bad)
    if not len(positions):
        return []
    flat = torch.nonzero(bad.reshape(-1)).flatten()
    first, last = int(flat[0]), int(flat[-1])
    hints: list[str] = []
    if last == measure.total - 1 and len(flat) == measure.total - first and first:
        hints.append(f"all elements from flat index {first} on are wrong: a missing tail")
    for dimension, extent in enumerate(out.shape):
        low, high = int(positions[:, dimension].min()), int(positions[:, dimension].max())
        if out.dim() > 1 and (low > 0 or high < extent - 1):
            hints.append(
                f"wrong elements lie in [{low}, {high}] of dimension {dimension} (extent {extent})"
            )
    return hints
