"""What a wrong output looks like: patterns that point a diagnostician at the mistake."""

from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from cutegen.verification.comparison import Comparison, Target
from cutegen.verification.tiles import Tiles, where_in_tiles

_LOOKS_AT_MOST = 1 << 24  # elements; patterns show on small cases as well as on large ones
_NEARLY = 1e-3  # relative distance at which a pattern counts as met
_MOST = 0.9
_DECADES = 4  # of the histogram: up to 10, 100, 1000 times the bound, and beyond
_LOWER_PRECISIONS = (("TF32 or fp16", 2.0**-11), ("bf16", 2.0**-8))
_DOWNGRADE_LARGEST_ERROR = 2e-2
_DOWNGRADE_LEAST_SPREAD = 0.05
_DOWNGRADE_LEAST_RATIO = 2.0**9  # roundoffs: between fp32's own noise and TF32's
_DOWNGRADE_LARGEST_RATIO = 2.0**19


class Pattern(StrEnum):
    """What kind of mistake an error looks like."""

    LAYOUT = "layout"  # right values in wrong places
    TAIL = "missing-tail"  # the last, partial tile
    MEMORY = "memory"  # NaN or infinity: uninitialised, out of bounds, or overflow
    FORMULA = "formula"  # everywhere, or all the same
    REGION = "region"  # some rows, columns or elements only
    PRECISION = "precision"
    RACE = "race"
    STATE = "state"  # what an earlier call left behind


class Looks(NamedTuple):
    """A pattern with the observations that led to it, most telling first."""

    pattern: Pattern
    hints: tuple[str, ...]


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


def describe_wrong(comparison: Comparison, output: Tensor, target: Target, tiles: Tiles) -> Looks:
    """The pattern of a wrong output, and where its first wrong element lies."""
    measure = comparison.measure
    where = where_in_tiles(measure.first_bad_index, tiles)
    ending = tuple(filter(None, (where, _told(error_histogram(comparison, output, target)))))
    if comparison.nonfinite:
        text = (
            f"{comparison.nonfinite} of {measure.total} elements are NaN or infinite where the "
            "reference is finite: uninitialised memory, a read out of bounds, or an overflow"
        )
        found = Looks(Pattern.MEMORY, (text,))
    elif not 0 < measure.total <= _LOOKS_AT_MOST or not target.exact.is_floating_point():
        found = Looks(Pattern.REGION, ())
    else:
        found = _resemblance(output.double(), target.exact.nan_to_num(0.0, 0.0, 0.0))
    if 0 < measure.total <= _LOOKS_AT_MOST:
        pattern, hints = _whereabouts(comparison, output, target, tiles)
        if not found.hints or (found.pattern is Pattern.MEMORY and pattern is Pattern.TAIL):
            found = Looks(pattern, found.hints)
        found = Looks(found.pattern, (*found.hints, *hints))
    return Looks(found.pattern, (*found.hints, *ending))


def error_histogram(comparison: Comparison, output: Tensor, target: Target) -> dict[str, int]:
    """How many elements err by how much, in multiples of what an element may; no zero counts."""
    if not 0 < output.numel() <= _LOOKS_AT_MOST or not output.is_floating_point():
        return {}
    exact, out = target.exact.double(), output.double()
    allowed = (comparison.slack + comparison.relative * exact.abs()).clamp_min(1e-300)
    times = (out - exact).abs() / allowed
    times = torch.where(out == exact, torch.zeros_like(times), times)
    counts = {"within the bound": int((times <= 1).sum())}
    if target.tolerance is not None:
        for decade in range(_DECADES - 1):
            inside = (times > 10.0**decade) & (times <= 10.0 ** (decade + 1))
            counts[f"up to {10 ** (decade + 1)} times it"] = int(inside.sum())
        beyond = torch.isfinite(times) & (times > 10.0 ** (_DECADES - 1))
        counts["beyond"] = int(beyond.sum())
    else:
        counts["beyond"] = int((torch.isfinite(times) & (times > 1)).sum())
    counts["not finite"] = int((~torch.isfinite(times)).sum())
    return {name: count for name, count in counts.items() if count}


def _told(histogram: dict[str, int]) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in histogram.items())
    return f"errors of the elements: {parts}" if parts else ""


def _resemblance(out: Tensor, exact: Tensor) -> Looks:
    """What the output is, if it is something simple."""
    if not bool(out.any()):
        return Looks(Pattern.FORMULA, ("every element is zero",))
    if out.numel() > 1 and bool((out == out.reshape(-1)[0]).all()):
        return Looks(Pattern.FORMULA, ("every element has the same value",))
    norm = sqrt(float(exact.square().sum()))
    if not norm or not bool(torch.isfinite(out).all()) or _near(out, exact, norm):
        return Looks(Pattern.FORMULA, ())
    factor = float((out * exact).sum()) / norm**2
    ordered, expected = (part.reshape(-1).sort().values for part in (out, exact))
    pattern, hint = Pattern.FORMULA, ""
    if abs(factor - 1) > _NEARLY and _near(out, exact * factor, norm * abs(factor)):
        hint = f"the output is the reference times {factor:.6g}"
    elif out.dim() > 1 and _near(out, exact.transpose(-1, -2).reshape(out.shape), norm):
        pattern = Pattern.LAYOUT
        hint = "the output is the reference with its last two dimensions transposed"
    elif _near(ordered, expected, norm):
        pattern = Pattern.LAYOUT
        hint = "the values are right but stand in wrong places: a layout or an index"
    return Looks(pattern, (hint,) if hint else ())


def _near(one: Tensor, other: Tensor, norm: float) -> bool:
    return sqrt(float((one - other).square().sum())) <= _NEARLY * norm


def _whereabouts(
    comparison: Comparison, output: Tensor, target: Target, tiles: Tiles
) -> tuple[Pattern, list[str]]:
    """Whether the bad elements are everywhere, a tail, or some rows or columns."""
    measure = comparison.measure
    if measure.bad_count >= _MOST * measure.total:
        hint = "nearly every element is wrong: the formula or the layout, not an edge"
        return Pattern.FORMULA, [hint]
    exact = target.exact.double().nan_to_num(0.0, 0.0, 0.0)
    rms = sqrt(float(exact.square().mean()))
    bad = ~((output.double() - target.exact).abs() <= _NEARLY * (rms + exact.abs()))
    positions = torch.nonzero(bad)
    if not len(positions):
        return Pattern.REGION, []
    flat = torch.nonzero(bad.reshape(-1)).flatten()
    first, last = int(flat[0]), int(flat[-1])
    pattern, hints = Pattern.REGION, []
    if last == measure.total - 1 and len(flat) == measure.total - first and first:
        pattern = Pattern.TAIL
        hints.append(f"all elements from flat index {first} on are wrong: a missing tail")
    for dimension, extent in enumerate(bad.shape):
        low, high = int(positions[:, dimension].min()), int(positions[:, dimension].max())
        if bad.dim() > 1 and (low > 0 or high < extent - 1):
            tile = tiles.of_dimension(bad.dim() - 1 - dimension)
            last_tile = low > 0 and low % tile.extent == 0 and low + tile.extent >= extent
            if last_tile and high == extent - 1:
                pattern = Pattern.TAIL
            hints.append(
                f"wrong elements lie in [{low}, {high}] of dimension {dimension} (extent {extent})"
                + (f": all in the last tile of {tile.name} {tile.extent}" if last_tile else "")
            )
    return pattern, hints
