"""A run in the terminal: who intends what, what came of it, and the best so far."""

from functools import singledispatch
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cutegen.doctor import Examination, Health
from cutegen.events import (
    AgentWaits,
    AskedAgain,
    Built,
    Diagnosed,
    Event,
    Measured,
    NodeStarted,
    NothingProposed,
    PredicateChanged,
    PredicateHeld,
    Profiled,
    Proposed,
    RunStarted,
    Selected,
    Verified,
)
from cutegen.history import Decision
from cutegen.measurement.self_test import SelfTest
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.result import RunResult, RunStatus
from cutegen.status import Status
from cutegen.verification.verdict import Verdict

_DECISION_STYLES = {
    Decision.ACCEPTED: "green",
    Decision.REJECTED: "yellow",
    Decision.FAILED: "red",
    Decision.NO_PROPOSAL: "dim",
    Decision.HANDED_BACK: "magenta",
}
_HEALTH_STYLES = {Health.OK: "green", Health.DEGRADED: "yellow", Health.MISSING: "red"}


class RunProgress:
    """Writes one line per event that a person wants to follow.

    Used in a ``with`` statement on a terminal, it also shows at the bottom what is being done
    right now and for how long: the first build of all compiles CuTe's headers, and says nothing.
    """

    def __init__(self, console: Console) -> None:
        """Write to ``console``."""
        self._console = console
        self._now = Progress(
            SpinnerColumn(),
            TextColumn("[dim]{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        """Begin to show what is being done."""
        self._now.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Leave the terminal as it was."""
        self._now.stop()

    def show(self, event: Event) -> None:
        """Write what an event has to say, if anything."""
        if isinstance(event, NodeStarted):
            for done in self._now.task_ids:
                self._now.remove_task(done)
            self._now.add_task(escape(" ".join(filter(None, (event.node, event.candidate)))))
        line = _line(event)
        if line:
            self._console.print(line, highlight=False, soft_wrap=True)


def line_of(event: Event) -> Text:
    """What ``RunProgress`` writes of an event; empty for events that only the log wants."""
    return Text.from_markup(_line(event))


@singledispatch
def _line(event: Event) -> str:
    """One line of rich markup; empty for events that only the log wants."""
    del event
    return ""


@_line.register
def _(event: RunStarted) -> str:
    again = " (taken up again)" if event.resumed else ""
    departures = f" · {event.method.departures}" if event.method.departures else ""
    return (
        f"[bold]{escape(event.spec)}[/] · {event.kernel_class} · {event.executor} · "
        f"{escape(event.model)} · {event.arch}{departures}{again}\n"
        f"[dim]{escape(event.run_dir)}[/]"
    )


@_line.register
def _(event: AskedAgain) -> str:
    return f"  [yellow]the model is asked again in {event.wait_s:g} s[/]: {escape(event.reason)}"


@_line.register
def _(event: AgentWaits) -> str:
    return f"{_agent(event.agent)} waits for a reply to {escape(event.prompt_file)}"


@_line.register
def _(event: Proposed) -> str:
    return f"{_agent(event.agent)}: {escape(event.intent)}"


@_line.register
def _(event: NothingProposed) -> str:
    return f"{_agent(event.agent)}: [dim]{escape(event.reason)}[/]"


@_line.register
def _(event: Built) -> str:
    if event.status is Status.PASSED:
        taken = "cached" if event.cached else f"{event.seconds:.1f} s"
        return f"  built by {event.toolchain} [dim]({taken})[/]"
    return f"  [red]{event.status.value}[/] by {event.toolchain}: {escape(event.summary)}"


@_line.register
def _(event: Verified) -> str:
    if event.status is Status.PASSED:
        return f"  [green]verified[/] [dim]({event.seconds:.1f} s)[/]"
    return f"  [red]{event.status.value}[/]: {escape(event.summary)}"


@_line.register
def _(event: Diagnosed) -> str:
    return f"{_agent('diagnostician')}: {escape(event.cause)}"


@_line.register
def _(event: Measured) -> str:
    if event.time_us is None:
        return ""
    return f"  {event.time_us:,.1f} µs{_times(event.speedup)}{_of_roof(event.roofline_fraction)}"


@_line.register
def _(event: Selected) -> str:
    style = _DECISION_STYLES[event.decision]
    return f"  [{style}]{event.decision.value}[/]: [dim]{escape(event.reason)}[/]"


@_line.register
def _(event: PredicateChanged) -> str:
    state = "opens" if event.stable else "closes"
    return f"[magenta]the profile edge {state}[/]: {escape(event.why)}"


@_line.register
def _(event: PredicateHeld) -> str:
    return f"[dim]the profile edge is held: {escape(event.why)}[/]"


@_line.register
def _(event: Profiled) -> str:
    return f"  {event.source} profile: {event.bottleneck}; [dim]{escape(event.evidence)}[/]"


def _agent(name: str) -> str:
    return f"[bold cyan]{name.replace('_', ' ')}[/]"


def _times(speedup: float | None) -> str:
    return "" if speedup is None else f", {speedup:.2f}x over PyTorch eager"


def _of_roof(fraction: float | None) -> str:
    return "" if fraction is None else f", {fraction:.0%} of the roof"


def show_result(console: Console, result: RunResult) -> None:
    """The end of a run: what there is, where it lies, how fast it is or why nobody knows."""
    style = "green" if result.status is RunStatus.SUCCEEDED else "yellow"
    console.print(f"[bold {style}]{result.status.value}[/] {escape(result.reason)}")
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    if result.best is not None:
        speed = (
            f"{result.best.speedup:.2f}x over PyTorch eager"
            if result.best.speedup is not None
            else f"not measured: {result.best.speedup_reason}"
        )
        table.add_row("kernel", Text(str(result.best.source_path)))
        table.add_row("verdict", Text(result.best.verdict.evidence.summary or "passed"))
        table.add_row("speed", Text(speed))
    if result.question is not None:
        table.add_row("prompt", Text(str(result.question.prompt_file)))
        table.add_row("answer", Text(f"cutegen resume {result.run_dir} --reply FILE"))
    table.add_row("run", Text(str(result.run_dir)))
    table.add_row("steps", str(len(result.steps)))
    if result.method.departures:
        table.add_row("ablation", result.method.departures)
    table.add_row("model", _spending(result))
    console.print(table)


def _spending(result: RunResult) -> str:
    about = "about " if result.uncounted_calls else ""
    cost = "of unknown price" if result.cost_usd is None else f"{result.cost_usd:.2f} USD"
    tokens = f", {about}{result.tokens:,} tokens, {about}{cost}" if result.tokens else ""
    return f"{escape(result.model)}: {result.model_calls} calls{tokens}"


def show_verdict(console: Console, verdict: Verdict, measurement: Measurement | None) -> None:
    """The verdict on one kernel, its evidence, and its time where there is one."""
    style = "green" if verdict.passed else "red"
    evidence = verdict.evidence
    console.print(f"[bold {style}]{verdict.status.value}[/] {escape(evidence.summary)}")
    for diagnostic in evidence.diagnostics:
        detail = f" ({diagnostic.detail})" if diagnostic.detail else ""
        console.print(Text(f"  line {diagnostic.line}: {diagnostic.message}{detail}"))
        if diagnostic.source_line:
            console.print(Text(f"    {diagnostic.source_line}", style="dim"))
    for hint in evidence.hints:
        console.print(Text(f"  {hint}"))
    if evidence.log and not verdict.passed and not evidence.diagnostics:
        console.print(Text(evidence.log.strip(), style="dim"))
    if measurement is not None:
        show_measurement(console, measurement)


def show_measurement(console: Console, measurement: Measurement) -> None:
    """The time of one kernel, or why there is none."""
    if measurement.state is MeasurementState.REFUSED:
        console.print(Text(f"time refused: {measurement.reason}", style="red"))
    elif measurement.candidate is None:
        console.print(Text(f"not measured: {measurement.reason}"))
    else:
        fraction = measurement.roofline.fraction if measurement.roofline else None
        console.print(
            f"{measurement.candidate.median_us:,.1f} µs{_times(measurement.speedup)}"
            f"{_of_roof(fraction)}"
        )


def show_examination(console: Console, examination: Examination) -> None:
    """The doctor's findings, each with what to do."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("part", "health", "found"):
        table.add_column(heading, overflow="fold")
    for finding in examination.findings:
        style = _HEALTH_STYLES[finding.health]
        detail = "\n".join(filter(None, (finding.detail, finding.advice)))
        table.add_row(finding.part, Text(finding.health.value, style=style), Text(detail))
    console.print(table)
    executors = ", ".join(examination.executors) or "none"
    console.print(f"executors that can judge a kernel here: [bold]{executors}[/]")
    if examination.clock is not None:
        show_self_test(console, examination.clock)


def show_self_test(console: Console, clock: SelfTest) -> None:
    """Known times beside measured ones."""
    console.print(f"the clock: [bold]{clock.state.value}[/] {escape(clock.reason)}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("trial", "measured", "expected", ""):
        table.add_column(heading, overflow="fold")
    for trial in clock.trials:
        table.add_row(
            trial.name,
            Text(f"{trial.measured_us:,.2f} µs", style="green" if trial.passed else "red"),
            f"{trial.low_us:,.2f} to {trial.high_us:,.2f}",
            Text(trial.sentence),
        )
    if clock.trials:
        console.print(table)
