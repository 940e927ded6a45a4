"""The runs in a folder at a glance."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cutegen.events import AgentWaits, RunStarted, read_events
from cutegen.frozen import Frozen
from cutegen.result import LOG_FILE, RESULT_FILE, RunResult, RunStatus


class RunState(StrEnum):
    """Where a run stands."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNSUPPORTED = "UNSUPPORTED"
    STOPPED = "STOPPED"
    WAITING = "WAITING"  # for a person's reply
    UNREADABLE = "UNREADABLE"  # written by another version of CuTeGen
    UNFINISHED = "UNFINISHED"  # begun, and at work still or killed: it can be resumed


class RunEntry(Frozen):
    """One run folder. ``begun`` is in UTC; ``speedup`` is over PyTorch eager."""

    run_id: str
    folder: Path
    state: RunState
    spec_name: str
    executor: str
    model: str
    steps: int = 0
    speedup: float | None = None
    begun: datetime
    nbytes: int


def find_runs(runs_dir: Path) -> tuple[RunEntry, ...]:
    """The runs below ``runs_dir``, newest first; other folders are passed over.

    The runs of a suite are called ``SUITE/RUN``.

    Raises:
        FileNotFoundError: There is no such folder.
    """
    if not runs_dir.is_dir():
        raise FileNotFoundError(f"no folder {runs_dir}: name the runs' own with --runs-dir")
    logs = (*runs_dir.glob(f"*/{LOG_FILE}"), *runs_dir.glob(f"*/*/{LOG_FILE}"))
    entries = (_entry(log.parent, str(log.parent.relative_to(runs_dir))) for log in logs)
    return tuple(sorted(entries, key=lambda entry: entry.begun, reverse=True))


def _entry(folder: Path, name: str) -> RunEntry:
    begun = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    bare = RunEntry(
        run_id=name,
        folder=folder,
        state=RunState.UNREADABLE,
        spec_name="",
        executor="",
        model="",
        begun=begun,
        nbytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
    )
    try:
        return bare.model_copy(update=_told_by(folder, begun))
    except ValueError:  # one folder of another version does not hide the others
        return bare


def _told_by(folder: Path, begun: datetime) -> dict[str, object]:
    """What the log and the result say.

    Raises:
        ValueError: Another version of CuTeGen wrote them.
    """
    events = read_events(folder / LOG_FILE)
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    if started is not None and started.at:
        begun = datetime.fromtimestamp(started.at, UTC)
    if (folder / RESULT_FILE).exists():
        result = RunResult.load(folder)
        return {
            "state": RunState(result.status.value),
            "spec_name": result.spec_name,
            "executor": result.executor,
            "model": result.model,
            "steps": len(result.steps),
            "speedup": result.best.speedup if result.best else None,
            "begun": begun,
        }
    waits = bool(events) and isinstance(events[-1], AgentWaits)
    return {
        "state": RunState.WAITING if waits else RunState.UNFINISHED,
        "spec_name": started.spec if started else "",
        "executor": started.executor if started else "",
        "model": started.model if started else "",
        "begun": begun,
    }


_STYLES = {
    RunState.SUCCEEDED.value: "green",
    RunState.UNFINISHED.value: "dim",
    RunStatus.FAILED.value: "red",
}


def show_runs(console: Console, runs_dir: Path, runs: Sequence[RunEntry]) -> None:
    """A table of runs, or a line that says there are none."""
    if not runs:
        console.print(f"no such runs in {runs_dir}", markup=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "spec", "state", "speed-up", "steps", "executor", "begun", "size"):
        table.add_column(
            heading,
            justify="right" if heading in {"steps", "size"} else "left",
            no_wrap=heading == "run",  # to be copied into the next command
        )
    for run in runs:
        table.add_row(
            Text(run.run_id),
            Text(run.spec_name),
            Text(run.state.value, style=_STYLES.get(run.state.value, "yellow")),
            "" if run.speedup is None else f"{run.speedup:.2f}x",
            str(run.steps),
            Text(run.executor),
            f"{run.begun:%Y-%m-%d %H:%M}",
            f"{run.nbytes / 2**20:.1f} MB",
        )
    console.print(table)
