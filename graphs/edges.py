"""The edges: who comes next. Pure functions of the history and of the state.

The profiling edge is held back by ``structure_is_stable``. Every router looks at ``stop`` first.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from cutegen.frozen import Frozen
from cutegen.graphs.settings import StabilityPolicy
from cutegen.graphs.state import Node, State
from cutegen.history import Decision, Step, StepKind
from cutegen.spec import KernelClass
from cutegen.status import Status
from cutegen.structure import Fingerprint

ROOFLINE = 0.95
OUT_OF_IDEAS_TWICE = 2
TUNING_PATIENCE = 6

POLICIES = {
    # tiles, pipelines and layouts: each change of structure opens the next
    KernelClass.MATMUL: StabilityPolicy(window=3, least_rounds=4, epsilon=0.02),
    KernelClass.REDUCTION: StabilityPolicy(window=2, least_rounds=3, epsilon=0.02),
    # bound by memory: structures that stream are soon as good as each other
    KernelClass.ACTIVATION: StabilityPolicy(window=2, least_rounds=2, epsilon=0.02),
    KernelClass.GENERIC: StabilityPolicy(window=2, least_rounds=3, epsilon=0.02),
}


class Stability(Frozen):
    """The predicate's answer, and why."""

    stable: bool
    why: str


def structure_is_stable(history: Sequence[Step], policy: StabilityPolicy) -> Stability:
    """Whether the search for a structure is over, so that profiling may begin.

    A structural round is a structural proposal together with the repairs made to it. It brings
    something when it ends accepted, with a new fingerprint or a gain above ε. The structure is
    stable when a candidate was accepted, and

    - the best is at 95 % of the roofline or more, or
    - the structural optimizer said twice that it has no more ideas, or
    - there were at least *m* rounds, and the last *w* of them brought nothing.

    What was said and tried before the last accepted change of structure, whoever made it, does
    not count: a tuning patch that changes the fingerprint closes the edge again.
    """
    accepted = [step for step in history if step.decision is Decision.ACCEPTED]
    if not accepted:
        return Stability(stable=False, why="no candidate is verified yet")
    fraction = accepted[-1].roofline_fraction
    if fraction is not None and fraction >= ROOFLINE:
        return Stability(stable=True, why=f"the best reaches {fraction:.0%} of the roofline")
    since = after_last_structure(history)
    refusals = sum(
        step.kind is StepKind.STRUCTURAL and step.decision is Decision.NO_PROPOSAL for step in since
    )
    if refusals >= OUT_OF_IDEAS_TWICE:
        return Stability(stable=True, why="the structural optimizer is out of ideas")
    rounds = len(_rounds(history, StepKind.STRUCTURAL))
    if rounds < policy.least_rounds:
        return Stability(
            stable=False, why=f"{rounds} of at least {policy.least_rounds} structural rounds"
        )
    quiet = _quiet_rounds(since, accepted, policy.epsilon)
    if quiet < policy.window:
        return Stability(
            stable=False,
            why=f"{quiet} of the last {policy.window} structural rounds brought nothing",
        )
    return Stability(
        stable=True,
        why=f"the last {quiet} structural rounds brought no new structure and no gain above "
        f"{policy.epsilon:.0%}",
    )


def tuning_is_left(history: Sequence[Step]) -> bool:
    """Whether the profile tuner has more to try on the structure at hand.

    It has not once it says so, or once its last few rounds brought nothing.
    """
    said_no = any(
        step.kind is StepKind.TUNING and step.decision is Decision.NO_PROPOSAL
        for step in _since_last_accepted(history)
    )
    last = _rounds(after_last_structure(history), StepKind.TUNING)[-TUNING_PATIENCE:]
    return not said_no and (len(last) < TUNING_PATIENCE or any(map(_was_accepted, last)))


def target_is_reached(history: Sequence[Step], target: float) -> bool:
    """Whether the best kernel reaches the share of the roofline that was asked for; 0 asks none.

    Without a measured time there is no share, and the search goes on.
    """
    accepted = [step for step in history if step.decision is Decision.ACCEPTED]
    fraction = accepted[-1].roofline_fraction if accepted else None
    return bool(target) and fraction is not None and fraction >= target


def _rounds(history: Sequence[Step], kind: StepKind) -> list[list[Step]]:
    """Proposals of one kind, each with the repairs made to it; declined ones are no rounds."""
    rounds: list[list[Step]] = []
    ours = False
    for step in history:
        if step.kind is not StepKind.REPAIR and not step.beside:
            ours = step.kind is kind and step.decision.is_about_a_proposal
            if ours:
                rounds.append([])
        if ours:
            rounds[-1].append(step)
    return rounds


def _was_accepted(steps: Sequence[Step]) -> bool:
    return any(step.decision is Decision.ACCEPTED for step in steps)


def _quiet_rounds(since: Sequence[Step], accepted: Sequence[Step], epsilon: float) -> int:
    """How many structural rounds at the end brought neither structure nor gain.

    ``since`` holds no accepted change of structure, so only a gain can have come of its rounds.
    """
    gains = {
        new.index: old.time_us / new.time_us - 1
        for old, new in pairwise(accepted)
        if old.time_us and new.time_us
    }
    quiet = 0
    for steps in reversed(_rounds(since, StepKind.STRUCTURAL)):
        if any(gains.get(step.index, 0.0) > epsilon for step in steps):
            break
        quiet += 1
    return quiet


def after_last_structure(history: Sequence[Step]) -> Sequence[Step]:
    """The steps after the last accepted one whose fingerprint was new."""
    start = 0
    best: Fingerprint | None = None
    for position, step in enumerate(history):
        if step.decision is not Decision.ACCEPTED or step.fingerprint is None:
            continue
        if best is None or not step.fingerprint.same_structure(best):
            start = position + 1
        best = step.fingerprint
    return history[start:]


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
