"""Scales and ticks of plots, and quantities as a reader wants them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEAST_TICKS = 3


@dataclass(frozen=True)
class Scale:
    """Maps values between ``low`` and ``high`` to pixels between ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies, in pixels."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """Round values inside the range; on a logarithmic scale 1, 2 and 5 of each decade."""
        if not self.logarithmic:
            return _linear_ticks(self.low, self.high, most)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7)):
            found = [d * 10.0**p for p in decades for d in digits]
            inside = tuple(t for t in found if self.low <= t <= self.high)
            if len(inside) >= _LEAST_TICKS:
                return inside
        return _linear_ticks(self.low, self.high, most)


def around(values: Sequence[float], margin: float = 1.25) -> tuple[float, float]:
    """A range that holds all values, with a factor of room on both sides."""
    return min(values) / margin, max(values) * margin


def _linear_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return tuple(i * step for i in range(first, math.floor(high / step + 1e-9) + 1))


def microseconds(value: float) -> str:
    """A time in µs, ms or s, with about four digits."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value)} µs"


def digits(value: float, most: int = 4) -> str:
    """A number with at most so many significant digits, never in exponent form."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    after = max(0, most - 1 - math.floor(math.log10(abs(value))))
    written = f"{value:,.{min(after, 9)}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def times(factor: float) -> str:
    """A factor as people write it, with a multiplication sign."""
    return f"{digits(factor, 3)}\N{MULTIPLICATION SIGN}"


def rate(value: float, unit: str) -> str:
    """A rate per second, such as 4.2 T with ``B/s``."""
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{digits(value / size, 3)} {prefix}{unit}"
    return f"{digits(value, 3)} {unit}"


def seconds(value: float) -> str:
    """A duration as people say it."""
    if value < 1:
        return f"{value * 1e3:.0f} ms"
    if value < 60:  # noqa: PLR2004 - a minute
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
