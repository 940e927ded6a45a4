"""Nsight Compute's pages as data: the raw page's metrics, the source page's hot lines.

Both are read as ``ncu --import REPORT --csv --print-units base`` prints them. A table begins at its
header; whatever the tool says before it is passed over.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import PurePath
from typing import NamedTuple

from cutegen.frozen import Frozen
from cutegen.toolchain.nvcc import CANDIDATE

_SAMPLES = "# Samples"
_STALL = "stall_"
_SASS = 3  # the second column named Source; the first holds the line's text
_MOST_HOT = 5
_TEXT_LIMIT = 120


class Counter(Frozen):
    """One metric's value, and its unit as Nsight Compute writes it."""

    value: float
    unit: str


class HotSpot(Frozen):
    """A line of source at which warps were found waiting.

    ``share`` is its part of all samples, ``reason`` why most of them waited there,
    ``instruction`` the one of its machine instructions that was found most often.
    """

    line: int
    text: str
    share: float
    reason: str
    instruction: str


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


def parse_source(page: str) -> dict[str, tuple[HotSpot, ...]]:
    """Read ``--page source --print-source cuda,sass``: each kernel's five hottest lines.

    The page has a table per file and function: a line with the sum over its instructions, then
    the instructions. What was inlined stands with the line that called it too, so the
    candidate's own lines hold all; the tables of headers are passed over. Kernels are named as
    ``bare_name`` names them.
    """
    lines: dict[str, list[_Line]] = {}
    file, kernel = "", ""
    names: list[str] = []
    for row in csv.reader(io.StringIO(page)):
        match row:
            case ["File Path", path]:
                file = PurePath(path).name
            case ["Function Name", name]:
                kernel = bare_name(name)
            case ["Line No", *_]:
                names = row
            case ["", *_] if file == CANDIDATE and kernel in lines and len(row) == len(names):
                lines[kernel][-1].instructions.append(_Row(row, dict(zip(names, row, strict=True))))
            case [_, *_] if file == CANDIDATE and names and len(row) == len(names):
                told = _Row(row, dict(zip(names, row, strict=True)))
                lines.setdefault(kernel, []).append(_Line(told, []))
    hottest = {kernel: _hottest(of_kernel) for kernel, of_kernel in lines.items()}
    return {kernel: spots for kernel, spots in hottest.items() if spots}


def bare_name(name: str) -> str:
    """A kernel's own name, without return type, scope, template and parameters."""
    head = re.split(r"[<(]", name.replace("(anonymous namespace)::", ""))[0]
    return head.split("::")[-1].split(" ")[-1]


class _Row(NamedTuple):
    """A row, and what its own table's header calls its cells: tables differ in their columns."""

    cells: list[str]
    named: Mapping[str, str]

    def samples(self) -> float:
        return _number(self.named.get(_SAMPLES, "")) or 0.0


class _Line(NamedTuple):
    """A line as the page tells it, and its instructions."""

    row: _Row
    instructions: list[_Row]


def _hottest(lines: Sequence[_Line]) -> tuple[HotSpot, ...]:
    total = sum(line.row.samples() for line in lines)
    hot = sorted(lines, key=lambda line: -line.row.samples())[:_MOST_HOT]
    spots: list[HotSpot] = []
    for row, instructions in hot:
        if not row.samples():
            break
        most = max(instructions, key=_Row.samples, default=None)
        spots.append(
            HotSpot(
                line=int(_number(row.cells[0]) or 0),
                text=" ".join(row.cells[1].split())[:_TEXT_LIMIT],
                share=row.samples() / total,
                reason=_reason(row),
                instruction=" ".join(most.cells[_SASS].split()) if most else "",
            )
        )
    return tuple(spots)


def _reason(row: _Row) -> str:
    """Why most of the samples waited, in the words of ``stalls``."""
    found = {
        name.removeprefix(_STALL): _number(cell) or 0.0
        for name, cell in row.named.items()
        if name.startswith(_STALL) and "(" not in name
    }
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
