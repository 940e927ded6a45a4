"""The history of a run: steps, as the predicate, the agents and the report read them."""

from enum import StrEnum

from cutegen.frozen import Frozen
from cutegen.status import Status
from cutegen.structure import Fingerprint


class StepKind(StrEnum):
    """Which kind of move a step was."""

    SYNTHESIS = "synthesis"
    REPAIR = "repair"
    STRUCTURAL = "structural"
    TUNING = "tuning"


class Decision(StrEnum):
    """What ``select`` made of a candidate."""

    ACCEPTED = "accepted"  # it is the new best
    REJECTED = "rejected"  # verified, but no gain (or none that can be shown)
    FAILED = "failed"  # never verified
    NO_PROPOSAL = "no-proposal"  # the agent declared itself out of ideas
    HANDED_BACK = "handed-back"  # the tuner sees in the profile that the structure is at fault

    @property
    def is_about_a_proposal(self) -> bool:
        """Whether there was something to decide about."""
        return self not in (Decision.NO_PROPOSAL, Decision.HANDED_BACK)


class Step(Frozen):
    """What was tried, by whom, and what came of it.

    ``time_us`` and ``speedup`` are None for an unmeasured step; ``reason`` then says why.
    ``roofline_fraction`` is the share of the limit reached, between 0 and 1. ``verdict`` and
    ``measurement`` are the ids of those artefacts in the run's store; empty where there is none.
    ``beside`` names the candidate that was chosen of several in one answer, where this is another
    of them: all of them together are one proposal.
    """

    index: int
    kind: StepKind
    agent: str
    intent: str
    candidate: str = ""
    parent: str = ""
    status: Status | None = None
    decision: Decision
    reason: str = ""
    fingerprint: Fingerprint | None = None
    time_us: float | None = None
    speedup: float | None = None
    roofline_fraction: float | None = None
    expected: str = ""
    verdict: str = ""
    measurement: str = ""
    beside: str = ""
