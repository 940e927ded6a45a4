"""Is the candidate faster than the incumbent, or did it only have luck?"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cutegen.frozen import Frozen
from cutegen.measurement.timing import Timing

MIN_GAIN = 0.01  # the same kernel against itself stays within this (tests/gpu/results/timing.json)
CONFIDENCE = 0.95
_NOISE_FACTOR = 3.0
# One kernel in two processes, whose code and data lie elsewhere in memory: on an H200 a kernel of
# 4.6 µs differed by up to 0.22 µs, session after session the same way, which no resampling shows.
_PLACEMENT_US = 0.25
_RESAMPLES = 2000
_SEED = 0x5EED


class Outcome(StrEnum):
    """What the samples show."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no-difference"


class Comparison(Frozen):
    """``ratio`` is the incumbent's time over the candidate's: above 1 means faster.

    Both times are interquartile means, not medians: short kernels on an H200 take one of two
    times some 3 % apart, at random, and a median then jumps from one to the other.

    ``low`` and ``high`` bound it with 95 % confidence, at all looks together that were taken at
    the samples; ``noise`` is its standard error as a fraction, and ``needed`` the gain that a
    change takes. ``sentence`` tells it to a reader.
    """

    ratio: float
    low: float
    high: float
    noise: float
    needed: float
    outcome: Outcome
    sentence: str

    @property
    def faster(self) -> bool:
        """Whether the candidate may replace the incumbent."""
        return self.outcome is Outcome.FASTER


def is_faster(candidate: Timing, incumbent: Timing, min_gain: float = MIN_GAIN) -> Comparison:
    """Compare two timings by a bootstrap of the ratio of their interquartile means.

    Timings of one interleaved session have samples in pairs; whole rounds are then drawn,
    which cancels whatever slowed both down in a round. Timings of unequal length are drawn
    from independently. The generator's seed is fixed: equal samples, equal outcome.

    FASTER takes a gain of at least ``min_gain``, of three times the measured noise and of
    what another place in memory does to a short kernel, and an interval wholly above 1;
    SLOWER an interval wholly below 1; everything else shows NO_DIFFERENCE.

    Args:
        candidate: The newcomer's timing.
        incumbent: The timing of the kernel to be replaced.
        min_gain: The least gain worth a change, as a fraction: 0.01 is 1 %.

    Raises:
        ValueError: The timings were taken by different methods, or one has no samples.
    """
    if candidate.method != incumbent.method:
        raise ValueError(
            f"timings by {candidate.method} and {incumbent.method} cannot be compared: "
            "measure both kernels in one session"
        )
    if not candidate.samples_us or not incumbent.samples_us:
        raise ValueError("a timing without samples cannot be compared")
    ratios = _bootstrap(np.asarray(candidate.samples_us), np.asarray(incumbent.samples_us))
    tail = (1 - CONFIDENCE) / 2 / max(candidate.looks, incumbent.looks)  # see stopping.py
    low, high = (float(bound) for bound in np.quantile(ratios, (tail, 1 - tail)))
    ratio = float(
        middle(np.asarray(incumbent.samples_us)) / middle(np.asarray(candidate.samples_us))
    )
    noise = float(np.std(ratios)) / ratio
    needed = max(min_gain, _NOISE_FACTOR * noise, _PLACEMENT_US / candidate.median_us)
    if ratio >= 1 + needed and low > 1:
        outcome = Outcome.FASTER
    elif high < 1:
        outcome = Outcome.SLOWER
    else:
        outcome = Outcome.NO_DIFFERENCE
    return Comparison(
        ratio=ratio,
        low=low,
        high=high,
        noise=noise,
        needed=needed,
        outcome=outcome,
        sentence=_sentence(outcome, ratio, low, high, needed),
    )


def middle(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the middle half of the last axis (the interquartile mean)."""
    quarter = samples.shape[-1] // 4
    ordered = np.sort(samples, axis=-1)
    means: NDArray[np.float64] = ordered[..., quarter : samples.shape[-1] - quarter].mean(axis=-1)
    return means


def _bootstrap(
    candidate: NDArray[np.float64], incumbent: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Ratios of interquartile means of resampled timings, shape (``_RESAMPLES``,)."""
    generator = np.random.default_rng(_SEED)
    drawn = generator.integers(0, candidate.size, (_RESAMPLES, candidate.size))
    if incumbent.size == candidate.size:
        drawn_incumbent = drawn
    else:
        drawn_incumbent = generator.integers(0, incumbent.size, (_RESAMPLES, incumbent.size))
    ratios: NDArray[np.float64] = middle(incumbent[drawn_incumbent]) / middle(candidate[drawn])
    return ratios


def _sentence(outcome: Outcome, ratio: float, low: float, high: float, needed: float) -> str:
    figures = f"{ratio:.3f}x the incumbent's speed (95 % interval {low:.3f} to {high:.3f})"
    if outcome is Outcome.FASTER:
        return f"faster: {figures}"
    if outcome is Outcome.SLOWER:
        return f"slower: {figures}"
    if low > 1:
        return f"not worth a change: {figures}, a gain below {needed:.1%}"
    return f"no difference that can be shown: {figures}"
