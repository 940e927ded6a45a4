"""What the emulator says about a kernel: faults that ended a launch, and notes that did not."""

import re
from typing import NamedTuple

from cutegen.status import Status

_LINE = re.compile(r"\bline (\d+)")


class Report(NamedTuple):
    """One record of ``cutegen_emulator_report`` (report.hpp).

    A note is odd, and may be harmless: what becomes of the outputs decides.
    """

    fatal: bool
    status: Status
    kernel: str
    summary: str
    details: tuple[str, ...]

    @property
    def lines(self) -> list[int]:
        """Lines of the candidate that the text names, each once, in the text's order."""
        text = "\n".join((self.summary, *self.details))
        return list(dict.fromkeys(int(line) for line in _LINE.findall(text)))


def parse_reports(text: str) -> tuple[Report, ...]:
    """Read all records; what is none (the candidate shares the process) is left out."""
    reports = []
    for record in text.split("\x1e"):
        weight, *fields = record.split("\x1f")
        match fields:
            case [status, kernel, summary, *details] if status in Status.__members__:
                fatal = weight == "fault"
                if fatal or weight == "note":
                    told = Report(fatal, Status(status), kernel, summary, tuple(details))
                    reports.append(told)
    return tuple(reports)
