"""The gate of the profiling edge: the predicate, as the run's method applies it."""

from collections.abc import Sequence

from cutegen.frozen import Frozen
from cutegen.graphs.edges import structure_is_stable
from cutegen.graphs.settings import Settings
from cutegen.history import Decision, Step


class Gate(Frozen):
    """Whether the edge is open, why, and whether there are structures left to try."""

    open: bool
    why: str
    structure_left: bool


def gate(history: Sequence[Step], settings: Settings) -> Gate:
    """Whether the tuner may have its turn.

    The edge is open while the structure is stable. Under immediate profiling, and only there,
    it is open from the first verified candidate on: the tuner comes first on every structure,
    and the structural optimizer when nothing is left to tune, until the structure is stable.
    A run without profiles keeps the order and leaves the profile out.
    """
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
