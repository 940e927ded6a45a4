"""Writing the history: one step per proposal, and no source twice."""

from cutegen.events import NothingProposed, Proposed, Selected
from cutegen.graphs.state import Attempt, State
from cutegen.graphs.workshop import Workshop
from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import Candidate, candidate_id
from cutegen.status import Status


def new_attempt(
    candidate: Candidate, *, kind: StepKind, expected: str = "", repairs: int = 0
) -> Attempt:
    """A candidate at the beginning of its way."""
    return Attempt(
        id=candidate.id,
        source=candidate.source,
        parent=candidate.parent,
        author=candidate.author,
        intent=candidate.intent,
        expected=expected,
        kind=kind,
        repairs=repairs,
        status="",
        verdict="",
        diagnosis="",
        hopeless=False,
        measurement="",
        note="",
    )


def step_kind(attempt: Attempt) -> StepKind:
    """What the step of an attempt is: a repair, or the move that it was proposed as."""
    return StepKind.REPAIR if attempt["repairs"] else StepKind(attempt["kind"])


def step_of(attempt: Attempt, decision: Decision, reason: str) -> Step:
    """The step that records what became of an attempt."""
    note = attempt["note"]
    return Step(
        index=0,
        kind=step_kind(attempt),
        agent=attempt["author"],
        intent=attempt["intent"],
        expected=attempt["expected"],
        candidate=attempt["id"],
        parent=attempt["parent"],
        status=Status(attempt["status"]) if attempt["status"] else None,
        decision=decision,
        reason=f"{reason}; {note}" if note else reason,
        verdict=attempt["verdict"],
        measurement=attempt["measurement"],
    )


def record(shop: Workshop, state: State, step: Step, best: Attempt | None = None) -> list[str]:
    """Add a step to the history; returns the state's list of steps.

    Args:
        shop: The node's tools.
        state: The state before the step.
        step: Its index is set here.
        best: The best candidate after the step, if the step changed it.
    """
    step = step.model_copy(update={"index": len(state.get("steps", []))})
    shop.folder.ledger.record_step(step)
    best = best or state.get("best")
    shop.emit(
        Selected(
            step=step.index,
            kind=step.kind,
            candidate=step.candidate,
            decision=step.decision,
            reason=step.reason,
            best=best["id"] if best else "",
        )
    )
    return [*state.get("steps", []), shop.folder.store.put_model(step)]


def propose(
    shop: Workshop,
    state: State,
    source: str,
    *,
    agent: str,
    kind: StepKind,
    intent: str,
    expected: str = "",
    parent: str = "",
    repairs: int = 0,
) -> State:
    """Make a source the candidate at hand, unless it was tried before.

    A source that was tried is not built again: its step says when, and no candidate results.
    """
    candidate = Candidate(
        id=candidate_id(source, shop.spec.id),
        source=shop.folder.store.put(source),
        parent=parent,
        author=agent,
        intent=intent,
    )
    shop.folder.ledger.record_candidate(candidate)
    attempt = new_attempt(candidate, kind=kind, expected=expected, repairs=repairs)
    earlier = next((s for s in shop.history if s.candidate == attempt["id"]), None)
    if earlier is not None:
        reason = f"this very source was tried in step {earlier.index} and was {earlier.decision}"
        decision = Decision.FAILED if repairs or not state.get("best") else Decision.REJECTED
        return {
            "candidate": None,
            "rivals": [],
            "steps": record(shop, state, step_of(attempt, decision, reason)),
        }
    shop.emit(
        Proposed(
            agent=agent,
            kind=step_kind(attempt),
            candidate=attempt["id"],
            parent=parent,
            intent=intent,
            expected=expected,
        )
    )
    return {"candidate": attempt, "rivals": []}


def nothing_proposed(
    shop: Workshop, state: State, *, agent: str, kind: StepKind, decision: Decision, reason: str
) -> State:
    """Record a turn that brought no candidate: the agent declined, or its reply was unusable."""
    shop.emit(NothingProposed(agent=agent, reason=reason))
    step = Step(index=0, kind=kind, agent=agent, intent="", decision=decision, reason=reason)
    return {"candidate": None, "rivals": [], "steps": record(shop, state, step)}
