"""The edges: who comes next. Pure functions of the history and of the state.

The profiling edge is held back by ``structure_is_stable`` (``stability.py``). Every router looks
at ``stop`` first.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from cutegen.graphs.rounds import after_last_structure, rounds_of
from cutegen.graphs.state import Node, State
from cutegen.history import Decision, Step, StepKind
from cutegen.status import Status

TUNING_PATIENCE = 6


def tuning_is_left(history: Sequence[Step]) -> bool:
    """Whether the profile tuner has more to try on the structure at hand.

    It has not once it says so, or once its last few rounds brought nothing.
    """
    said_no = any(
        step.kind is StepKind.TUNING and step.decision is Decision.NO_PROPOSAL
        for step in _since_last_accepted(history)
    )
    last = rounds_of(after_last_structure(history), StepKind.TUNING)[-TUNING_PATIENCE:]
    return not said_no and (len(last) < TUNING_PATIENCE or any(map(_was_accepted, last)))


def target_is_reached(history: Sequence[Step], target: float) -> bool:
    """Whether the best kernel reaches the share of the roofline that was asked for; 0 asks none.

    Without a measured time there is no share, and the search goes on.
    """
    accepted = [step for step in history if step.decision is Decision.ACCEPTED]
    fraction = accepted[-1].roofline_fraction if accepted else None
    return bool(target) and fraction is not None and fraction >= target


def _was_accepted(steps: Sequence[Step]) -> bool:
    return any(step.decision is Decision.ACCEPTED for step in steps)


def _since_last_accepted(history: Sequence[Step]) -> Sequence[Step]:
    positions = [i for i, step in enumerate(history) if step.decision is Decision.ACCEPTED]
    return history[positions[-1] + 1 :] if positions else history


def after_synthesize(state: State) -> Literal["compile", "synthesize", "finish"]:
    """A first kernel is built; an unusable reply is followed by another synthesis."""
    if _stopped(state):
        return "finish"
    if state.get("candidate"):
        return "compile"
    return "synthesize" if state.get("syntheses_left") else "finish"


Failure = Literal["diagnose", "select", "synthesize", "finish"]


def after_failure(state: State) -> Failure:
    """Repair while the budget lasts; then back to the best; without one, start anew."""
    if _stopped(state):
        return "finish"
    return "diagnose" if state.get("repairs_left") else after_giving_up(state)


def after_giving_up(state: State) -> Literal["select", "synthesize", "finish"]:
    """Back to the best; without one, start anew while the budget lasts."""
    if _stopped(state):
        return "finish"
    if state.get("best"):
        return "select"
    return "synthesize" if state.get("syntheses_left") else "finish"


def after_compile(state: State) -> Literal["verify", Failure]:
    """What was built is verified."""
    if _stopped(state) or _status(state):
        return after_failure(state)
    return "verify"


def after_verify(state: State) -> Literal["measure", Failure]:
    """What was verified is measured; nothing else ever is."""
    return "measure" if _passed(state) else after_failure(state)


def after_measure(state: State) -> Literal["select", Failure]:
    """A time that is not believed is the candidate's failure."""
    return "select" if _passed(state) else after_failure(state)


def after_select(
    state: State,
) -> Literal["structural_optimizer", "profile", "profile_tuner", "finish"]:
    """Structure first; profiling when the edge is open; the end when nothing is left to win."""
    if _stopped(state) or not state.get("best") or not state.get("rounds_left"):
        return "finish"
    if state.get("reached"):
        return "finish"
    if state.get("stable") and state.get("tuning_left"):
        return "profile_tuner" if state.get("unprofiled") else "profile"
    if state.get("stable") and not state.get("structure_left"):
        return "finish"
    return "structural_optimizer"


def after_optimizer(state: State) -> Literal["compile", "select", "finish"]:
    """A proposal is built; without one, ``select`` decides what comes next."""
    if _stopped(state):
        return "finish"
    return "compile" if state.get("candidate") else "select"


def after_diagnose(state: State) -> Literal["repair", "select", "synthesize", "finish"]:
    """A failure with a cause is repaired; a hopeless one is given up."""
    if _stopped(state) or not state.get("repairs_left"):
        return after_giving_up(state)
    return "repair"


def after_repair(state: State) -> Literal["compile", Failure]:
    """A repaired candidate is built like any other; an unusable patch is one more failure."""
    if _stopped(state) or _status(state):
        return after_failure(state)
    return "compile"


def after_profile(state: State) -> Literal["profile_tuner", "finish"]:
    """The tuner works with the profile at hand."""
    return "finish" if _stopped(state) else "profile_tuner"


def _stopped(state: State) -> bool:
    return bool(state.get("stop"))


def _status(state: State) -> str:
    candidate = state.get("candidate")
    return candidate["status"] if candidate else ""


def _passed(state: State) -> bool:
    return not _stopped(state) and _status(state) == Status.PASSED


ROUTERS: dict[Node, Callable[[State], Node]] = {
    "synthesize": after_synthesize,
    "compile": after_compile,
    "verify": after_verify,
    "measure": after_measure,
    "select": after_select,
    "structural_optimizer": after_optimizer,
    "profile": after_profile,
    "profile_tuner": after_optimizer,
    "diagnose": after_diagnose,
    "repair": after_repair,
}
