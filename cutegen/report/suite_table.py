"""A suite in the terminal: each member's story under its name, and the sum as a table."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cutegen.events import Built, Proposed, Selected, Verified
from cutegen.report.terminal import line_of
from cutegen.suite import MemberEnded, MemberStatus, SuiteEvent, SuiteResult, SuiteStarted

_STYLES = {
    MemberStatus.SUCCEEDED: "green",
    MemberStatus.STOPPED: "yellow",
    MemberStatus.WAITING: "yellow",
}
_TOLD = (Proposed, Built, Verified, Selected)  # many members talk at once: only what happened


class SuiteProgress:
    """Writes one line per event that a person wants to follow."""

    def __init__(self, console: Console) -> None:
        """Write to ``console``."""
        self._console = console
        self._all = 0
        self._done = 0

    def show(self, event: SuiteEvent) -> None:
        """Write what an event has to say, if anything."""
        line = self._line(event)
        if line:
            self._console.print(line, highlight=False, soft_wrap=True)

    def _line(self, event: SuiteEvent) -> Text:
        if isinstance(event, SuiteStarted):
            self._all = len(event.members)
            return Text.from_markup(
                f"[bold]{self._all} specs[/]\n[dim]{escape(event.suite_dir)}[/]"
            )
        if isinstance(event, MemberEnded):
            self._done += 1
            count = f"{self._done} of {self._all}" if self._all else f"{self._done}"
            member = event.member
            style = _STYLES.get(member.status, "red")
            return Text.from_markup(
                f"[bold]{escape(member.run_id)}[/] [{style}]{member.status.value}[/] "
                f"[dim]{escape(member.reason)} ({count})[/]"
            )
        if not isinstance(event.told, _TOLD):
            return Text()
        return Text.assemble((f"{event.run_id}: ", "dim"), line_of(event.told))


def show_suite(console: Console, result: SuiteResult) -> None:
    """A row for each member, and what they come to together, with what is missing named."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "status", "speed-up", "time", "of the roof", "steps", "about"):
        table.add_column(heading, overflow="fold")
    for member in result.members:
        roof = member.roofline_fraction
        table.add_row(
            Text(member.run_id),
            Text(member.status.value, style=_STYLES.get(member.status, "red")),
            "" if member.speedup is None else f"{member.speedup:.2f}x",
            "" if member.time_us is None else f"{member.time_us:,.1f} µs",
            "" if roof is None else f"{roof:.0%}",
            str(member.steps),
            Text(_about(member.reason, member.speedup_reason, verified=member.verified)),
        )
    console.print(table)
    counts = ", ".join(f"{count} {status}" for status, count in result.counts.items())
    console.print(f"{len(result.members)} specs: {counts}; {result.verified} verified")
    if result.geomean_speedup is None:
        console.print("speed-up: nothing was measured")
    else:
        console.print(
            f"speed-up over PyTorch eager: {result.geomean_speedup:.2f}x, geometric mean of the "
            f"{result.measured} measured; {result.faster} are faster"
        )
    if result.measured and result.unmeasured:
        console.print(f"without a time: {', '.join(result.unmeasured)}", markup=False)
    for member in result.waiting:
        console.print(f"cutegen resume {member.run_dir} --reply FILE", markup=False, soft_wrap=True)
    console.print(Text(str(result.suite_dir), style="dim"), soft_wrap=True)


def _about(reason: str, speedup_reason: str, *, verified: bool) -> str:
    return f"not measured: {speedup_reason}" if verified and speedup_reason else reason
