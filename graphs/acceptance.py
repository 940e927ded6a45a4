"""Whether a verified candidate becomes the best."""

from typing import NamedTuple

from cutegen.history import Decision, StepKind
from cutegen.measurement.comparison import is_faster
from cutegen.measurement.timing import Measurement
from cutegen.structure import Fingerprint, describe_change


class Design(NamedTuple):
    """What can be known of a kernel without running it.

    ``occupancy`` is the share of warps that can be resident, None where no compiler for the GPU
    was asked.
    """

    fingerprint: Fingerprint
    spilled_bytes: int
    occupancy: float | None


class Choice(NamedTuple):
    """A decision and its reason."""

    decision: Decision
    reason: str


def first(measurement: Measurement) -> Choice:
    """The first verified candidate is the best there is."""
    reason = "the first verified kernel"
    if measurement.candidate is None:
        reason += f"; unmeasured: {measurement.reason}"
    return Choice(Decision.ACCEPTED, reason)


def by_time(measurement: Measurement) -> Choice | None:
    """Faster than the incumbent beyond the noise, or not; None without both times."""
    if measurement.candidate is None or measurement.incumbent is None:
        return None
    comparison = is_faster(measurement.candidate, measurement.incumbent)
    decision = Decision.ACCEPTED if comparison.faster else Decision.REJECTED
    return Choice(decision, comparison.sentence)


def by_design(kind: StepKind, new: Design, best: Design, unmeasured: str) -> Choice:
    """Without a time: is the design changed as a move of this kind is meant to change it?

    A move may never make the compiler spill more registers. A new structure is accepted. Other
    numbers in the old structure are accepted from the tuner alone, and only where the static
    facts show a gain: fewer spills, or more resident warps. What is rejected here for want of a
    clock is judged again when the run is taken up on a GPU.

    Args:
        kind: STRUCTURAL or TUNING.
        new: The candidate.
        best: The incumbent.
        unmeasured: Why there is no time.
    """
    change = describe_change(best.fingerprint, new.fingerprint)
    if new.spilled_bytes > best.spilled_bytes:
        spills = f"ptxas spills {new.spilled_bytes} bytes instead of {best.spilled_bytes}"
        return Choice(Decision.REJECTED, f"{spills}: {change}")
    if not new.fingerprint.same_structure(best.fingerprint):
        return Choice(Decision.ACCEPTED, f"{change}; unmeasured: {unmeasured}")
    if kind is StepKind.STRUCTURAL:
        return Choice(Decision.REJECTED, f"the structure is the same as before: {change}")
    gain = _static_gain(new, best)
    if not gain:
        return Choice(
            Decision.REJECTED,
            f"verified, but without a clock nothing shows that it is better: {change}",
        )
    return Choice(Decision.ACCEPTED, f"{gain}: {change}; unmeasured: {unmeasured}")


def _static_gain(new: Design, best: Design) -> str:
    if new.spilled_bytes < best.spilled_bytes:
        return f"ptxas spills {new.spilled_bytes} bytes instead of {best.spilled_bytes}"
    if new.occupancy is None or best.occupancy is None or new.occupancy <= best.occupancy:
        return ""
    return f"{new.occupancy:.0%} of the warps resident instead of {best.occupancy:.0%}"
