"""Ending a series early may save samples; it may not make winners."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from cutegen.measurement.comparison import Outcome, is_faster
from cutegen.measurement.stopping import LOOKS, decided, fastest_found, look_rounds, narrow
from cutegen.measurement.timing import Timing

SAMPLES = 50


def drawn(scale: float, spread: float, seed: int, *, modes: float = 0.0) -> Timing:
    """Log-normal times; with ``modes``, one of two times that far apart, at random."""
    generator = np.random.default_rng(seed)
    times = scale * np.exp(generator.normal(0, spread, SAMPLES))
    times *= 1 + modes * generator.integers(0, 2, SAMPLES)
    return Timing(samples_us=tuple(map(float, times)), looks=LOOKS)


def ended(
    timings: Mapping[str, Timing], enough: Callable[[Mapping[str, Timing]], bool]
) -> dict[str, Timing]:
    """The series as they are when ``enough`` has ended them."""
    for rounds in look_rounds(SAMPLES):
        part = {
            name: timing.model_copy(update={"samples_us": timing.samples_us[:rounds]})
            for name, timing in timings.items()
        }
        if rounds == SAMPLES or enough(part):
            return part
    raise AssertionError


@pytest.mark.parametrize("modes", [0.0, 0.03])
def test_equal_kernels_win_no_oftener_for_being_looked_at(modes: float) -> None:
    rounds, missed, won = [], 0, 0
    for seed in range(60):
        pair = {
            name: drawn(100, 0.01, 2 * seed + place, modes=modes)
            for place, name in enumerate(("new", "old"))
        }
        found = ended(pair, decided("new", "old"))
        compared = is_faster(found["new"], found["old"])
        rounds.append(len(found["new"].samples_us))
        missed += not compared.low <= 1 <= compared.high
        won += compared.faster
    assert won <= 2
    assert missed <= 6  # 5 % of 60 are expected, and 7 or more come in 3 % of such tests
    assert min(rounds) >= 20


def test_a_clear_difference_needs_few_samples() -> None:
    found = ended({"new": drawn(90, 0.01, 1), "old": drawn(100, 0.01, 2)}, decided("new", "old"))
    assert len(found["new"].samples_us) == 20
    assert is_faster(found["new"], found["old"]).outcome is Outcome.FASTER


def test_a_speedup_is_known_closely_before_a_series_ends() -> None:
    loud = {"new": drawn(50, 0.05, 1), "eager": drawn(100, 0.05, 2)}
    assert len(ended(loud, narrow("new"))["new"].samples_us) == SAMPLES
    quiet = {"new": drawn(50, 0.003, 1), "eager": drawn(100, 0.003, 2)}
    assert len(ended(quiet, narrow("new"))["new"].samples_us) == 20


def test_a_race_ends_when_the_first_one_is_known() -> None:
    lanes = {str(place): drawn(100 + 5 * place, 0.01, place) for place in range(3)}
    assert len(ended(lanes, fastest_found)["0"].samples_us) == 20


def test_intervals_allow_for_the_looks() -> None:
    one, other = drawn(100, 0.02, 1), drawn(100, 0.02, 2)
    looked = is_faster(one, other)
    once = is_faster(one.model_copy(update={"looks": 1}), other.model_copy(update={"looks": 1}))
    assert looked.ratio == once.ratio
    assert looked.high - looked.low > 1.1 * (once.high - once.low)
