"""Whether a verified candidate becomes the best."""

from typing import NamedTuple

from cutegen.history import Decision, StepKind
from cutegen.measurement.comparison import is_faster
from cutegen.measurement.timing import Measurement
from cutegen.structure import Fingerprint, describe_change
from cutegen.toolchain.protocol import BuildResult


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


def by_design(
    kind: StepKind,
    new: tuple[Fingerprint, BuildResult],
    best: tuple[Fingerprint, BuildResult],
    unmeasured: str,
) -> Choice:
    """Without a time: did the design change as a move of this kind is meant to, at no cost?

    A structural move must change the fingerprint, a tuning move the fingerprint or the
    parameters, and neither may make the compiler spill more registers than before.

    Args:
        kind: STRUCTURAL or TUNING.
        new: The candidate's fingerprint and build.
        best: The incumbent's.
        unmeasured: Why there is no time.
    """
    (now, built), (before, built_before) = new, best
    change = describe_change(before, now)
    spills, spills_before = _spilled_bytes(built), _spilled_bytes(built_before)
    if spills > spills_before:
        return Choice(
            Decision.REJECTED,
            f"ptxas now spills {spills} bytes instead of {spills_before} ({change})",
        )
    same = now.same_structure(before)
    if same and (kind is StepKind.STRUCTURAL or now.parameters == before.parameters):
        return Choice(Decision.REJECTED, f"the design is not changed as intended: {change}")
    return Choice(Decision.ACCEPTED, f"{change}; unmeasured: {unmeasured}")


def _spilled_bytes(build: BuildResult) -> int:
    return sum(kernel.spill_store_bytes + kernel.spill_load_bytes for kernel in build.resources)
