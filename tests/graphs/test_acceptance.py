"""Which verified candidate becomes the best."""

from cutegen.graphs.acceptance import Design, by_design, by_time, first
from cutegen.history import Decision, StepKind
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.structure import Fingerprint


def timing(center: float) -> Timing:
    return Timing(samples_us=tuple(center + 0.01 * (i % 7) for i in range(50)))


def measured(candidate: float, incumbent: float | None = None) -> Measurement:
    return Measurement(
        state=MeasurementState.MEASURED,
        candidate=timing(candidate),
        incumbent=timing(incumbent) if incumbent else None,
    )


def design(
    structure: str = "plain",
    threads: int = 256,
    spilled: int = 0,
    occupancy: float | None = None,
) -> Design:
    fingerprint = Fingerprint(features={"copies": structure}, parameters={"kThreads": threads})
    return Design(fingerprint, spilled, occupancy)


def test_a_faster_candidate_wins_and_noise_does_not() -> None:
    for candidate, decision in ((80.0, Decision.ACCEPTED), (99.9, Decision.REJECTED)):
        choice = by_time(measured(candidate, 100.0))
        assert choice is not None
        assert choice.decision is decision
        assert "speed" in choice.reason


def test_without_both_times_there_is_no_choice_by_time() -> None:
    assert by_time(measured(80.0)) is None
    assert by_time(Measurement(state=MeasurementState.UNMEASURED)) is None


def test_the_first_is_accepted_and_says_when_it_is_unmeasured() -> None:
    unmeasured = Measurement(state=MeasurementState.UNMEASURED, reason="no GPU")
    assert first(unmeasured).decision is Decision.ACCEPTED
    assert "unmeasured: no GPU" in first(unmeasured).reason
    assert "unmeasured" not in first(measured(1.0)).reason


def test_by_design() -> None:
    structural, tuning = StepKind.STRUCTURAL, StepKind.TUNING
    accepted, rejected = Decision.ACCEPTED, Decision.REJECTED
    cases = [
        (structural, design("vectorized"), design(), accepted, "vectorized replaces plain"),
        (structural, design(threads=128), design(), rejected, "same as before"),
        (structural, design("tiled", spilled=8), design(), rejected, "spills 8 bytes"),
        (tuning, design(threads=128), design(), rejected, "without a clock"),
        (tuning, design(threads=128, occupancy=0.5), design(occupancy=1.0), rejected, "clock"),
        (tuning, design(threads=128, occupancy=1.0), design(occupancy=0.5), accepted, "100%"),
        (tuning, design(threads=128), design(spilled=16), accepted, "0 bytes instead of 16"),
        (tuning, design("tiled"), design(), accepted, "tiled replaces plain"),
    ]
    for kind, new, best, decision, words in cases:
        choice = by_design(kind, new, best, "no GPU")
        assert choice.decision is decision, (kind, new)
        assert words in choice.reason
        assert (decision is accepted) == ("unmeasured: no GPU" in choice.reason)
