"""When a series of samples may end: at one of three looks, never at a lucky moment.

Whoever looks after each sample, and ends where a difference shows, finds differences that do
not exist. Here the looks are fixed before the first sample, and each makes its intervals for a
third of the error, so that by Bonferroni's inequality all of them hold together with 95 %,
whatever made the series end: repeated confidence intervals (C. Jennison and B. W. Turnbull,
Interim analyses: the repeated confidence interval approach, J. R. Statist. Soc. B 51(3), 1989).
"""

from collections.abc import Callable, Mapping

import numpy as np

from cutegen.measurement.comparison import Comparison, Outcome, is_faster, middle
from cutegen.measurement.timing import Timing

LOOKS = 3
_SHARES = (0.4, 0.64, 1.0)  # of the most samples: 20, 32 and 50
_NARROW = 0.005  # half an interval's width, as a fraction of the ratio

Enough = Callable[[Mapping[str, Timing]], bool]
"""Asked at a look with the samples so far: whether they will do."""


def look_rounds(samples: int) -> tuple[int, ...]:
    """After how many rounds to look at a series of at most ``samples``; the last one is its end."""
    return tuple(max(1, round(share * samples)) for share in _SHARES)


def decided(challenger: str, other: str) -> Enough:
    """Enough to say which of two is faster, or that they differ by less than 0.5 %."""

    def enough(timings: Mapping[str, Timing]) -> bool:
        return _settled(is_faster(timings[challenger], timings[other]))

    return enough


def narrow(name: str) -> Enough:
    """Enough to know to 0.5 % how many times faster ``name`` is than each of the others."""

    def enough(timings: Mapping[str, Timing]) -> bool:
        return all(
            _is_narrow(is_faster(timings[name], other))
            for rival, other in timings.items()
            if rival != name
        )

    return enough


def fastest_found(timings: Mapping[str, Timing]) -> bool:
    """Enough to say which one is the fastest, but for those within 0.5 % of it."""
    fastest = min(timings, key=lambda name: float(middle(np.asarray(timings[name].samples_us))))
    return all(
        _settled(is_faster(timings[fastest], other))
        for name, other in timings.items()
        if name != fastest
    )


def _settled(compared: Comparison) -> bool:
    return compared.outcome is not Outcome.NO_DIFFERENCE or _is_narrow(compared)


def _is_narrow(compared: Comparison) -> bool:
    return compared.high - compared.low <= 2 * _NARROW * compared.ratio
