"""What compute-sanitizer writes, as findings: a status, a sentence, a line of the candidate.

Read as its manual shows it (docs.nvidia.com/compute-sanitizer): a record begins with a message,
its places and addresses follow, further indented.
"""

import re
from collections.abc import Iterator

from cutegen.frozen import Frozen
from cutegen.status import Status

_PREFIX = re.compile(r"^=========( ?)(?P<indent> *)(?P<text>.*)$")
_PLACE = re.compile(r"candidate\.cu:(?P<line>\d+)")
_KERNEL = re.compile(r"\bat (?P<kernel>[^+]+?)(?:\+0x| in |$)")
_UNSUPPORTED = re.compile(
    r"Device not supported|Internal Sanitizer Error|Failed to|not supported on"
)
_CONTINUED = ("and ",)
_MESSAGES = (
    (re.compile(r"(Potential invalid|Invalid) __\w+__ \w+"), Status.OUT_OF_BOUNDS),
    (re.compile(r"(Error|ERROR): (Race reported|Potential \w+ hazard)"), Status.RACE),
    (re.compile(r"Barrier error detected|Deadlock detected"), Status.DIVERGENCE),
    (re.compile(r"Uninitialized __\w+__ memory read"), Status.UNINITIALIZED),
    (re.compile(r"Program hit \w+ \(error \d+\)"), Status.LAUNCH_ERROR),
)


class SanitizerFinding(Frozen):
    """One fault. ``line`` is 0 where the tool names no line of the candidate."""

    tool: str
    status: Status
    summary: str
    kernel: str = ""
    line: int = 0
    details: tuple[str, ...] = ()


def parse_sanitizer(tool: str, log: str) -> tuple[SanitizerFinding, ...]:
    """All faults in a log, each kind at each line once; warnings are left out."""
    found: dict[tuple[Status, int], SanitizerFinding] = {}
    for record in _records(log):
        status = _status(record)
        if status is None:
            continue
        places = [int(match["line"]) for text in record for match in _PLACE.finditer(text)]
        kernel = next((m["kernel"] for text in record if (m := _KERNEL.search(text))), "")
        line = places[0] if places else 0
        finding = SanitizerFinding(
            tool=tool,
            status=status,
            summary=record[0].removeprefix("Error: "),
            kernel=kernel,
            line=line,
            details=tuple(record[1:4]),
        )
        found.setdefault((status, line), finding)
    return tuple(found.values())


def refusal_of_tool(log: str) -> str:
    """Why the tool itself did not work, or an empty string."""
    return next((line.strip("= \n") for line in log.split("\n") if _UNSUPPORTED.search(line)), "")


def _status(record: list[str]) -> Status | None:
    for pattern, status in _MESSAGES:
        if pattern.match(record[0]):
            misaligned = status is Status.OUT_OF_BOUNDS and any("misaligned" in t for t in record)
            return Status.MISALIGNED if misaligned else status
    return None


def _records(log: str) -> Iterator[list[str]]:
    """Messages with what belongs to them."""
    record: list[str] = []
    for line in log.split("\n"):
        match = _PREFIX.match(line)
        if match is None:
            continue
        text = match["text"].strip()
        if match["indent"] or text.startswith(_CONTINUED):
            if record and text:
                record.append(text)
            continue
        if record:
            yield record
        record = [text] if text else []
    if record:
        yield record
