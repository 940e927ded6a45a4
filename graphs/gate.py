"""The gate of the profiling edge: the predicate, as the run's method applies it."""

from collections.abc import Sequence

from cutegen.frozen import Frozen
from cutegen.graphs.rounds import after_last_structure
from cutegen.graphs.settings import Settings
from cutegen.graphs.stability import structure_is_stable
from cutegen.history import Decision, Step, StepKind


class Gate(Frozen):
    """Whether the edge is open, why, and whether there are structures left to try."""

    open: bool
    why: str
    structure_left: bool


def gate(history: Sequence[Step], settings: Settings) -> Gate:
    """Whether the tuner may have its turn.

    The edge is open while the structure is stable. When the tuner hands the structure back it
    closes, until the structural optimizer has answered. Under immediate profiling, and only
    there, it is open from the first verified candidate on: the tuner comes first on every
    structure, and the structural optimizer when nothing is left to tune, until the structure is
    stable. A run without profiles keeps the order and leaves the profile out.
    """
    waiting = _unanswered(history)
    if waiting is not None:
        why = f"the tuner hands the structure back: {waiting.reason}"
        return Gate(open=False, why=why, structure_left=True)
    stability = structure_is_stable(history, settings.policy)
    left = not stability.stable
    match settings.method.profiling:
        case "delayed":
            return Gate(open=stability.stable, why=stability.why, structure_left=left)
        case "immediate":
            verified = any(step.decision is Decision.ACCEPTED for step in history)
            why = f"profiling is immediate; {stability.why}" if verified else stability.why
            return Gate(open=verified, why=why, structure_left=left)
        case "never":
            why = f"{stability.why}; this run makes no profile"
            return Gate(open=stability.stable, why=why, structure_left=left)


def handed_back(history: Sequence[Step]) -> Step | None:
    """The tuner's latest word that the structure at hand is at fault.

    It counts until a candidate with another structure is accepted, so that a structure is
    handed back once, and every structural round until then has the evidence.
    """
    said = (s for s in after_last_structure(history) if s.decision is Decision.HANDED_BACK)
    return next(said, None)


def _unanswered(history: Sequence[Step]) -> Step | None:
    """The hand-back that no structural round has followed yet."""
    for step in reversed(history):
        if step.decision is Decision.HANDED_BACK:
            return step
        if step.kind is StepKind.STRUCTURAL:
            return None
    return None
