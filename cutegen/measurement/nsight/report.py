"""Nsight Compute's pages as data: the raw page's metrics, the source page's hot instructions.

Both are read as ``ncu --import REPORT --csv --print-units base`` prints them. A table begins at its
header; whatever the tool says before it is passed over.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from math import isfinite

from cutegen.frozen import Frozen

_SAMPLES = ("Warp Stall Sampling (All Samples)", "# Samples", "Samples")
_STALL = "stall_"
_MOST_HOT = 5


class Counter(Frozen):
    """One metric's value, and its unit as Nsight Compute writes it."""

    value: float
    unit: str


class HotSpot(Frozen):
    """An instruction at which warps were found waiting.

    ``share`` is its part of all samples, ``reason`` why most of them waited there; ``line`` is
    the line of the candidate that it comes from, 0 where that is not known.
    """

    instruction: str
    share: float
    reason: str
    line: int = 0


class KernelCounters(Frozen):
    """What was counted of one kernel: metrics by name, and where its warps waited."""

    name: str
    counters: dict[str, Counter]
    hot: tuple[HotSpot, ...] = ()

    def value(self, metric: str) -> float | None:
        """A metric's value, or None where it was not counted."""
        counter = self.counters.get(metric)
        return None if counter is None else counter.value


def parse_raw(page: str) -> tuple[KernelCounters, ...]:
    """Read ``--page raw``: one kernel a row, under the rows of names and units."""
    rows = list(_table(page, "Kernel Name", "ID"))
    if len(rows) < 3:  # noqa: PLR2004 - names, units, a kernel
        return ()
    names, units, *kernels = rows
    position = names.index("Kernel Name")
    return tuple(
        KernelCounters(
            name=row[position],
            counters={
                name: Counter(value=value, unit=unit)
                for name, unit, cell in zip(names, units, row, strict=True)
                if "_" in name and (value := _number(cell)) is not None
            },
        )
        for row in kernels
        if len(row) == len(names)
    )


def parse_source(page: str) -> tuple[HotSpot, ...]:
    """Read ``--page source --print-source sass`` of one kernel: the five hottest instructions."""
    rows = list(_table(page, "Source"))
    if not rows:
        return ()
    names, *instructions = rows
    sampled = next((name for name in _SAMPLES if name in names), "")
    if not sampled:
        return ()
    text, samples = names.index("Source"), names.index(sampled)
    stalls = [i for i, name in enumerate(names) if name.startswith(_STALL)]
    counted = [
        (_number(row[samples]) or 0.0, row) for row in instructions if len(row) == len(names)
    ]
    total = sum(count for count, _ in counted)
    counted.sort(key=lambda pair: -pair[0])
    return tuple(
        HotSpot(
            instruction=" ".join(row[text].split()),
            share=count / total,
            reason=_reason(names, row, stalls),
        )
        for count, row in counted[:_MOST_HOT]
        if count
    )


def _reason(names: Sequence[str], row: Sequence[str], stalls: Sequence[int]) -> str:
    found = {names[i].removeprefix(_STALL): _number(row[i]) or 0.0 for i in stalls}
    most = max(found, key=lambda name: found[name], default="")
    return most if most and found[most] else ""


def _table(page: str, *columns: str) -> Iterator[list[str]]:
    """The rows of the first table that has these columns, its header first."""
    begun = False
    for row in csv.reader(io.StringIO(page)):
        begun = begun or all(column in row for column in columns)
        if begun and row:
            yield row


def _number(cell: str) -> float | None:
    try:
        value = float(cell.replace(",", ""))
    except ValueError:  # n/a, no data, or a name
        return None
    return value if isfinite(value) else None
