"""The predicate of the profiling edge: whether the search for a structure is over.

Profiles tempt an agent into tuning a bad design, so they are held back until the design has
settled. When that is depends on the class of kernel: ``policies.toml`` beside this module, or a
user's own table.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

from cutegen.frozen import Frozen
from cutegen.graphs.rounds import after_last_structure, rounds_of
from cutegen.graphs.settings import StabilityPolicy
from cutegen.history import Decision, Step, StepKind


class Reason(StrEnum):
    """What holds the edge, or what opens it."""

    UNVERIFIED = "unverified"  # no candidate was accepted yet
    TOO_FEW_ROUNDS = "too-few-rounds"  # fewer structural rounds than the policy's m
    STILL_MOVING = "still-moving"  # one of the last w structural rounds brought something
    AT_THE_ROOFLINE = "at-the-roofline"
    OUT_OF_IDEAS = "out-of-ideas"
    SETTLED = "settled"  # enough rounds, and the last w brought nothing

    @property
    def opens(self) -> bool:
        """Whether this is a reason for the structure to count as stable."""
        return self in (Reason.AT_THE_ROOFLINE, Reason.OUT_OF_IDEAS, Reason.SETTLED)


class Stability(Frozen):
    """The predicate's answer: every reason for it, and the first one in a sentence."""

    stable: bool
    reasons: tuple[Reason, ...]
    why: str


def structure_is_stable(history: Sequence[Step], policy: StabilityPolicy) -> Stability:
    """Whether the search for a structure is over, so that profiling may begin.

    A structural round is a structural proposal together with the repairs made to it. It brings
    something when it ends accepted, with a new fingerprint or a gain above ε. The structure is
    stable when a candidate was accepted, and at least one of these holds:

    - ``AT_THE_ROOFLINE``: the best is at the policy's share of the roofline or more. No other
      structure could be much faster, so this counts even right after a change of structure.
    - ``OUT_OF_IDEAS``: the structural optimizer said ``refusals`` times that it has no more ideas.
    - ``SETTLED``: there were at least *m* rounds, and the last *w* of them brought nothing.

    Else it is not, because of ``UNVERIFIED``, or of ``TOO_FEW_ROUNDS``, ``STILL_MOVING`` or both.

    What was said and tried before the last accepted change of structure, whoever made it, does
    not count: a tuning patch that changes the fingerprint closes the edge again. Only the number
    of rounds *m* is of the whole history.

    The function is pure and total: it answers for every history and policy, and reads nothing
    else. With more patience (a larger *w*, *m* or ``refusals``, a smaller ε, a higher share of
    the roofline) it never becomes true earlier; and it becomes true after max(*w*, *m*) rounds
    that bring nothing.
    """
    accepted = [step for step in history if step.decision is Decision.ACCEPTED]
    if not accepted:
        why = "no candidate is verified yet"
        return Stability(stable=False, reasons=(Reason.UNVERIFIED,), why=why)
    found = _reasons(history, accepted, policy)
    stable = any(reason.opens for reason in found)
    kept = {reason: why for reason, why in found.items() if reason.opens is stable}
    return Stability(stable=stable, reasons=tuple(kept), why=next(iter(kept.values())))


def _reasons(
    history: Sequence[Step], accepted: Sequence[Step], policy: StabilityPolicy
) -> dict[Reason, str]:
    """Everything that speaks for or against, with the figures."""
    found: dict[Reason, str] = {}
    fraction = accepted[-1].roofline_fraction
    if fraction is not None and fraction >= policy.roofline:
        found[Reason.AT_THE_ROOFLINE] = f"the best reaches {fraction:.0%} of the roofline"
    since = after_last_structure(history)
    refusals = sum(
        step.kind is StepKind.STRUCTURAL and step.decision is Decision.NO_PROPOSAL for step in since
    )
    if refusals >= policy.refusals:
        found[Reason.OUT_OF_IDEAS] = "the structural optimizer is out of ideas"
    rounds = len(rounds_of(history, StepKind.STRUCTURAL))
    if rounds < policy.least_rounds:
        found[Reason.TOO_FEW_ROUNDS] = (
            f"{rounds} of at least {policy.least_rounds} structural rounds"
        )
    quiet = _quiet_rounds(since, accepted, policy.epsilon)
    if quiet < policy.window:
        found[Reason.STILL_MOVING] = (
            f"{quiet} of the last {policy.window} structural rounds brought nothing"
        )
    if rounds >= policy.least_rounds and quiet >= policy.window:
        found[Reason.SETTLED] = (
            f"the last {quiet} structural rounds brought no new structure and no gain above "
            f"{policy.epsilon:.0%}"
        )
    return found


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
    for steps in reversed(rounds_of(since, StepKind.STRUCTURAL)):
        if any(gains.get(step.index, 0.0) > epsilon for step in steps):
            break
        quiet += 1
    return quiet
