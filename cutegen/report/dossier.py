"""All that a run folder knows, gathered for a reader: finished or not, measured or not."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter

from cutegen.events import Event, Profiled, RunStarted, read_events
from cutegen.frozen import Frozen
from cutegen.history import Step
from cutegen.measurement.profile import Profile
from cutegen.measurement.timing import Measurement
from cutegen.report.edge import Moment, Opening, Takeover, edge_of, openings_of, takeovers_of
from cutegen.report.listing import RunState
from cutegen.result import LOG_FILE, RESULT_FILE, SPEC_FILE, RunResult
from cutegen.shown import Shown
from cutegen.spec import KernelSpec
from cutegen.store import Ledger, MissingObjectError, ModelCall, Store
from cutegen.structure import Fingerprint
from cutegen.verification.verdict import Verdict

_LEDGER = "ledger.sqlite"
_SETTINGS: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
_CONVERSATION: TypeAdapter[tuple[tuple[str, str], ...]] = TypeAdapter(tuple[tuple[str, str], ...])

ModelT = TypeVar("ModelT", bound=BaseModel)


class Message(Frozen):
    """A part of a prompt, by the role that it was sent in."""

    role: str
    text: str


class Exchange(Frozen):
    """A prompt and its reply."""

    call: ModelCall
    messages: tuple[Message, ...]


class Chapter(Shown):
    """A step with all that belongs to it. Texts that the folder lacks are empty."""

    step: Step
    source: str = ""
    parent_source: str = ""
    parent_step: int | None = None
    parent_design: Fingerprint | None = None
    verdict: Verdict | None = None
    measurement: Measurement | None = None
    exchanges: tuple[Exchange, ...] = ()


class Finding(Frozen):
    """What a profiler said of a candidate; ``profile`` is None where only the log knows."""

    event: Profiled
    profile: Profile | None = None
    step: int | None = None


class Dossier(Shown):
    """A run, as the report shows it. ``result`` is None before its end."""

    folder: Path
    run_id: str
    state: RunState
    started: RunStarted | None
    result: RunResult | None
    spec: KernelSpec | None
    settings: dict[str, JsonValue]
    chapters: tuple[Chapter, ...]
    unplaced: tuple[Exchange, ...]  # asked, but the run ended before a step came of it
    edge: tuple[Moment, ...] = ()
    openings: tuple[Opening, ...]
    takeovers: tuple[Takeover, ...]
    findings: tuple[Finding, ...]
    events: tuple[Event, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps alone."""
        return tuple(chapter.step for chapter in self.chapters)

    @property
    def best_chapter(self) -> Chapter | None:
        """Where the best kernel came from: the last step that proposed it."""
        best = self.result.best if self.result else None
        if best is None:
            return None
        return next((c for c in reversed(self.chapters) if c.step.candidate == best.id), None)


def read_run(folder: Path) -> Dossier:
    """Read a run folder, wherever it lies now. Nothing in it is changed.

    Raises:
        FileNotFoundError: It is none.
        ValueError: Its log or its result is not what this version writes.
    """
    folder = folder.resolve()
    if not (folder / LOG_FILE).exists():
        raise FileNotFoundError(
            f"{folder} holds no {LOG_FILE}, so it is no run folder: `cutegen runs list` shows them"
        )
    events = read_events(folder / LOG_FILE)
    started = next((e for e in reversed(events) if isinstance(e, RunStarted)), None)
    result = RunResult.load(folder) if (folder / RESULT_FILE).exists() else None
    ledger = Ledger(folder / _LEDGER) if (folder / _LEDGER).exists() else None
    store = Store(folder / "objects")
    steps = (ledger.steps() if ledger else ()) or (result.steps if result else ())
    exchanges = [_exchange(store, call) for call in ledger.calls()] if ledger else []
    run_id = result.run_id if result else folder.name
    settings = ledger.settings(run_id) if ledger else None
    spec_file = folder / SPEC_FILE
    return Dossier(
        folder=folder,
        run_id=run_id,
        state=RunState(result.status.value) if result else RunState.UNFINISHED,
        started=started,
        result=result,
        spec=KernelSpec.model_validate_json(spec_file.read_text()) if spec_file.exists() else None,
        settings=_SETTINGS.validate_json(settings) if settings else {},
        chapters=tuple(_chapters(steps, ledger, store, exchanges)),
        unplaced=tuple(e for e in exchanges if e.call.step >= len(steps)),
        edge=edge_of(events),
        openings=openings_of(events),
        takeovers=takeovers_of(events),
        findings=tuple(_findings(events, steps, store)),
        events=events,
    )


def _chapters(
    steps: Sequence[Step], ledger: Ledger | None, store: Store, exchanges: Sequence[Exchange]
) -> Iterable[Chapter]:
    at: dict[str, Step] = {}
    for step in steps:
        parent = at.get(step.parent)
        yield Chapter(
            step=step,
            source=_source(ledger, store, step.candidate),
            parent_source=_source(ledger, store, step.parent),
            parent_step=parent.index if parent else None,
            parent_design=parent.fingerprint if parent else None,
            verdict=_artefact(store, step.verdict, Verdict),
            measurement=_artefact(store, step.measurement, Measurement),
            exchanges=tuple(e for e in exchanges if e.call.step == step.index),
        )
        if step.candidate:
            at[step.candidate] = step


def _source(ledger: Ledger | None, store: Store, candidate: str) -> str:
    """A candidate's text; empty where the folder does not hold it."""
    if ledger is None or not candidate:
        return ""
    try:
        return store.get_text(ledger.candidate(candidate).source)
    except MissingObjectError:
        return ""


def _artefact(store: Store, digest: str, kind: type[ModelT]) -> ModelT | None:
    if not digest:
        return None
    try:
        return store.get_model(digest, kind)
    except MissingObjectError:
        return None


def _exchange(store: Store, call: ModelCall) -> Exchange:
    try:
        parts = _CONVERSATION.validate_json(store.get(call.prompt))
    except MissingObjectError:
        parts = ()
    return Exchange(call=call, messages=tuple(Message(role=r, text=t) for r, t in parts))


def _findings(events: Sequence[Event], steps: Sequence[Step], store: Store) -> Iterable[Finding]:
    """Each different profile once, with the step that made the profiled candidate."""
    told: set[tuple[str, str, str]] = set()
    for event in events:
        if not isinstance(event, Profiled):
            continue
        key = (event.candidate, event.source, event.evidence)
        if key not in told:
            told.add(key)
            made = (step.index for step in reversed(steps) if step.candidate == event.candidate)
            profile = _artefact(store, event.profile, Profile)
            yield Finding(event=event, profile=profile, step=next(made, None))
