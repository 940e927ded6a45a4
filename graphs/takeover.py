"""Taking up an emulated run on a GPU: what it verified is judged again, oldest first."""

from collections.abc import Generator

from cutegen.events import Event, parse_event
from cutegen.execution.protocol import EnvironmentUnfitError
from cutegen.graphs.context import Context
from cutegen.graphs.judging import compile_candidate, measure, select, verify
from cutegen.graphs.settings import Settings
from cutegen.graphs.standing import standing
from cutegen.graphs.state import State
from cutegen.graphs.steps import new_attempt
from cutegen.graphs.workshop import Workshop
from cutegen.history import Step, StepKind
from cutegen.status import Status

JUDGES = (compile_candidate, verify, measure)


def judge_lineage(
    state: State, context: Context, settings: Settings
) -> Generator[Event, None, State]:
    """Verify and measure every verified candidate where the run now is, against the best so far.

    Those that were rejected for want of a clock get their chance too.

    Returns:
        The state from which the search goes on: the best of the lineage, the budget whole
        again, and a predicate that reads only what is known from here.

    Raises:
        EnvironmentUnfitError: This machine cannot judge; the run is left as it was.
    """
    told: list[object] = []
    now: State = {
        **state,
        "settings": settings.model_dump(mode="json"),
        "counted_from": len(state["steps"]),
        "candidate": None,
        "best": None,
        "last": None,
        "rivals": [],
        "profile_of": "",
        "stop": None,
        "status": "",
        "rounds": 0,
        "syntheses": 0,
        "wall_s": 0.0,
    }
    history = Workshop.of(now, context, told.append).history
    verified = {step.candidate: step for step in history if step.status is Status.PASSED}
    for step in verified.values():
        now = _judged(now, Workshop.of(now, context, told.append), step)
        yield from map(parse_event, told)
        told.clear()
    now |= standing("measure", now, Workshop.of(now, context, told.append))
    yield from map(parse_event, told)
    return now


def _judged(state: State, shop: Workshop, step: Step) -> State:
    """The state after one candidate went through the nodes that judge."""
    kept = shop.folder.ledger.candidate(step.candidate)
    kind = StepKind.STRUCTURAL if step.kind is StepKind.REPAIR else step.kind
    now: State = {
        **state,
        "candidate": {
            **new_attempt(kept, kind=kind, expected=step.expected),
            "note": f"judged again on {shop.settings.executor}",
        },
    }
    for judge in JUDGES:
        now |= judge(now, shop)
        stop, candidate = now.get("stop"), now.get("candidate")
        if stop:
            raise EnvironmentUnfitError(stop["reason"])
        if candidate is None or candidate["status"] not in {"", Status.PASSED}:
            return now
    return now | select(now, shop)
