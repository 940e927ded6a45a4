"""What happens in a run, as it happens: typed events, one JSON line each in ``log.jsonl``.

The terminal, the notebook and the report render this one stream. Delivery is at least once: a
node that was killed and taken up again tells its part again.
"""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from cutegen.frozen import Frozen
from cutegen.history import Decision, StepKind
from cutegen.method import Method
from cutegen.status import Status


class RunStarted(Frozen):
    """A run begins, or is taken up again (``resumed``)."""

    event: Literal["run-started"] = "run-started"
    at: float = 0.0
    run_id: str
    run_dir: str
    spec: str
    kernel_class: str
    executor: str
    model: str
    arch: str
    resumed: bool = False
    method: Method = Method()


class NodeStarted(Frozen):
    """A node of the graph begins its work."""

    event: Literal["node-started"] = "node-started"
    at: float = 0.0
    node: str
    candidate: str = ""


class AgentAsked(Frozen):
    """A model answered an agent; ``stored`` when the ledger did instead of the model."""

    event: Literal["agent-asked"] = "agent-asked"
    at: float = 0.0
    agent: str
    attempt: int
    seconds: float
    tokens: int = 0
    cost_usd: float | None = None  # None where the price is not known
    stored: bool = False


class AgentSpeaks(Frozen):
    """A model's reply is coming along."""

    event: Literal["agent-speaks"] = "agent-speaks"
    at: float = 0.0
    agent: str
    characters: int
    seconds: float


class AskedAgain(Frozen):
    """A model's service failed in passing; it is asked again after ``wait_s`` seconds."""

    event: Literal["asked-again"] = "asked-again"
    at: float = 0.0
    agent: str
    reason: str
    wait_s: float


class AgentWaits(Frozen):
    """A person is asked in a model's place; the run pauses until it is resumed with a reply."""

    event: Literal["agent-waits"] = "agent-waits"
    at: float = 0.0
    agent: str
    prompt_file: str


class Proposed(Frozen):
    """An agent proposes a candidate, made from ``parent``."""

    event: Literal["proposed"] = "proposed"
    at: float = 0.0
    agent: str
    kind: StepKind
    candidate: str
    parent: str = ""
    intent: str
    expected: str = ""


class NothingProposed(Frozen):
    """An agent had nothing (usable) to propose, and why."""

    event: Literal["nothing-proposed"] = "nothing-proposed"
    at: float = 0.0
    agent: str
    reason: str


class Built(Frozen):
    """A candidate was built, or not, by one toolchain."""

    event: Literal["built"] = "built"
    at: float = 0.0
    candidate: str
    toolchain: str
    status: Status
    summary: str = ""
    seconds: float = 0.0
    cached: bool = False


class Verified(Frozen):
    """The verdict on a candidate."""

    event: Literal["verified"] = "verified"
    at: float = 0.0
    candidate: str
    status: Status
    summary: str
    seconds: float = 0.0


class Diagnosed(Frozen):
    """The likeliest cause of a failure."""

    event: Literal["diagnosed"] = "diagnosed"
    at: float = 0.0
    candidate: str
    cause: str
    causes: int


class Measured(Frozen):
    """A candidate was timed (microseconds, median), or the reason why not."""

    event: Literal["measured"] = "measured"
    at: float = 0.0
    candidate: str
    time_us: float | None = None
    incumbent_us: float | None = None
    speedup: float | None = None
    roofline_fraction: float | None = None
    reason: str = ""


class Selected(Frozen):
    """What became of a candidate; ``best`` is the best one after the decision."""

    event: Literal["selected"] = "selected"
    at: float = 0.0
    step: int
    kind: StepKind
    candidate: str
    decision: Decision
    reason: str
    best: str = ""


class PredicateChanged(Frozen):
    """The profiling edge opened or closed."""

    event: Literal["predicate-changed"] = "predicate-changed"
    at: float = 0.0
    stable: bool
    why: str


class PredicateHeld(Frozen):
    """The profiling edge stays closed: the next step is another structural one."""

    event: Literal["predicate-held"] = "predicate-held"
    at: float = 0.0
    why: str


class Profiled(Frozen):
    """What the profiler says of the best kernel; ``profile`` is the id of all it says."""

    event: Literal["profiled"] = "profiled"
    at: float = 0.0
    candidate: str
    source: str
    bottleneck: str
    evidence: str
    profile: str = ""


class Finished(Frozen):
    """The run is over; ``result.json`` in its folder says the rest."""

    event: Literal["finished"] = "finished"
    at: float = 0.0
    status: str
    reason: str
    best: str = ""
    speedup: float | None = None
    steps: int = 0


Event = (
    RunStarted
    | NodeStarted
    | AgentAsked
    | AgentSpeaks
    | AskedAgain
    | AgentWaits
    | Proposed
    | NothingProposed
    | Built
    | Verified
    | Diagnosed
    | Measured
    | Selected
    | PredicateChanged
    | PredicateHeld
    | Profiled
    | Finished
)

_PARSER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


def parse_event(data: object) -> Event:
    """The event that a dictionary, as sent through the stream, stands for.

    Raises:
        pydantic.ValidationError: It stands for none.
    """
    return _PARSER.validate_python(data)


def append_event(log: Path, event: Event) -> None:
    """Add one line to the log, whole or not at all, whoever else is writing."""
    line = event.model_dump_json().encode() + b"\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read_events(log: Path) -> tuple[Event, ...]:
    """All events of a log, in order; a last line that was cut short is left out."""
    if not log.exists():
        return ()
    lines = log.read_bytes().split(b"\n")[:-1]
    return tuple(_PARSER.validate_json(line) for line in lines if line)
