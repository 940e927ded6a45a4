import numpy as np
import pytest

from cutegen.measurement.comparison import Outcome, is_faster
from cutegen.measurement.timing import Timing


def noisy(median_us: float, spread: float, seed: int, count: int = 50) -> Timing:
    generator = np.random.default_rng(seed)
    samples = median_us * np.exp(generator.normal(0, spread, count))
    return Timing(samples_us=tuple(float(sample) for sample in samples))


def test_a_clear_gain_is_accepted_and_told() -> None:
    compared = is_faster(noisy(90, 0.01, 1), noisy(100, 0.01, 2))
    assert compared.outcome is Outcome.FASTER
    assert compared.faster
    assert compared.low < compared.ratio < compared.high
    assert compared.ratio == pytest.approx(100 / 90, rel=0.02)
    assert compared.sentence.startswith("faster: 1.1")


def test_luck_is_not_accepted() -> None:
    accepted = sum(
        is_faster(noisy(100, 0.05, 2 * s), noisy(100, 0.05, 2 * s + 1)).faster for s in range(100)
    )
    assert accepted <= 6


def test_a_loss_is_called_one() -> None:
    assert is_faster(noisy(110, 0.01, 1), noisy(100, 0.01, 2)).outcome is Outcome.SLOWER


def test_a_sure_gain_below_the_least_gain_is_not_worth_a_change() -> None:
    candidate, incumbent = noisy(99.5, 0.0001, 1), noisy(100, 0.0001, 2)
    compared = is_faster(candidate, incumbent, min_gain=0.01)
    assert compared.outcome is Outcome.NO_DIFFERENCE
    assert "not worth a change" in compared.sentence
    assert is_faster(candidate, incumbent, min_gain=0.001).faster


def test_pairing_cancels_a_drift_that_both_share() -> None:
    drift = np.linspace(1.0, 2.0, 50)
    candidate = Timing(samples_us=tuple(float(x) for x in 97 * drift))
    incumbent = Timing(samples_us=tuple(float(x) for x in 100 * drift))
    assert is_faster(candidate, incumbent).faster
    unpaired = Timing(samples_us=incumbent.samples_us[:-1])
    assert not is_faster(candidate, unpaired).faster


def test_equal_samples_give_an_equal_outcome() -> None:
    one, other = noisy(100, 0.05, 1), noisy(99, 0.05, 2)
    assert is_faster(one, other) == is_faster(one, other)


def test_different_methods_cannot_be_compared() -> None:
    odd = Timing(samples_us=(1.0, 2.0), method="hot-l2")
    with pytest.raises(ValueError, match="cannot be compared"):
        is_faster(odd, noisy(1, 0.1, 1))


def test_the_gain_needed_grows_with_the_noise_that_was_measured() -> None:
    quiet = is_faster(noisy(96, 0.002, 1), noisy(100, 0.002, 2))
    assert quiet.needed == 0.01
    assert quiet.faster
    loud = is_faster(noisy(96, 0.15, 1), noisy(100, 0.15, 2))
    assert loud.needed == pytest.approx(3 * loud.noise)
    assert loud.needed > 0.04
    assert not loud.faster


def test_two_modes_do_not_make_a_difference_out_of_nothing() -> None:
    """Calls of a short kernel on an H200 took 51.8 or 53.4 µs, at random."""
    generator = np.random.default_rng(5)
    ratios = []
    for _ in range(40):
        one, other = (
            Timing(samples_us=tuple(float(x) for x in generator.choice([51.8, 53.4], 400)))
            for _ in range(2)
        )
        ratios.append(is_faster(one, other).ratio)
    low, high = np.quantile(ratios, (0.025, 0.975))
    assert 0.99 < low < 1 < high < 1.01


def test_a_short_kernel_must_gain_more_than_another_place_in_memory_gives() -> None:
    lucky = is_faster(noisy(4.4, 0.002, 1), noisy(4.6, 0.002, 2))
    assert lucky.low > 1.03
    assert not lucky.faster
    assert is_faster(noisy(4.2, 0.002, 1), noisy(4.6, 0.002, 2)).faster
