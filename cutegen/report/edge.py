"""When the profile edge was held, opened and closed, and why, as the log tells it."""

from collections.abc import Sequence
from enum import StrEnum

from cutegen.events import Event, PredicateChanged, PredicateHeld, RunStarted, Selected
from cutegen.frozen import Frozen


class Opening(Frozen):
    """The profile edge stood open for the steps from ``first`` to ``last``, and why it opened.

    ``last`` is None where it stayed open to the end.
    """

    first: int
    last: int | None = None
    why: str


class Takeover(Frozen):
    """Before step ``first`` the run was taken up on another executor."""

    first: int
    executor: str


class EdgeState(StrEnum):
    """What became of the edge."""

    HELD = "held"  # it stays closed
    OPENED = "opened"
    CLOSED = "closed"


class Moment(Frozen):
    """What became of the edge after a step; -1 stands for before the first."""

    after: int
    state: EdgeState
    why: str


def edge_of(events: Sequence[Event]) -> tuple[Moment, ...]:
    """Every word about the edge, in order, but none twice in a row."""
    found: list[Moment] = []
    last = -1
    for event in events:
        if isinstance(event, Selected):
            last = event.step
        if isinstance(event, PredicateHeld):
            state = EdgeState.HELD
        elif isinstance(event, PredicateChanged):
            state = EdgeState.OPENED if event.stable else EdgeState.CLOSED
        else:
            continue
        moment = Moment(after=last, state=state, why=event.why)
        if moment not in found[-1:]:
            found.append(moment)
    return tuple(found)


def openings_of(events: Sequence[Event]) -> tuple[Opening, ...]:
    """The spans of steps in which profiles were allowed; another executor begins anew."""
    found: list[Opening] = []
    is_open, last, executor = False, -1, ""
    for event in events:
        if isinstance(event, Selected):
            last = event.step
        closes = isinstance(event, PredicateChanged) and not event.stable
        if isinstance(event, RunStarted):
            closes, executor = event.executor != executor, event.executor
        if is_open and closes:
            found[-1] = found[-1].model_copy(update={"last": last})
            is_open = False
        elif not is_open and isinstance(event, PredicateChanged) and event.stable:
            found.append(Opening(first=last + 1, why=event.why))
            is_open = True
    return tuple(found)


def takeovers_of(events: Sequence[Event]) -> tuple[Takeover, ...]:
    """Where the run was taken up on another executor."""
    found: list[Takeover] = []
    last, executor = -1, ""
    for event in events:
        if isinstance(event, Selected):
            last = event.step
        elif isinstance(event, RunStarted):
            if executor and event.executor != executor:
                found.append(Takeover(first=last + 1, executor=event.executor))
            executor = event.executor
    return tuple(found)
