"""What TMA makes of floats under a tensor map of type TFLOAT32, by class of pattern.

Each row of the input holds one class of patterns. The expected bits are the emulator's rule, to
nearest with ties away from zero; the GPU's answer says whether it is the hardware's.
"""

from collections.abc import Callable

import numpy as np

from conformance.case import Exact, KernelCase, Operand
from cutegen.spec import DType

_LOW = 13  # fraction bits that TF32 does not have
Words = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _ending_in(low: int) -> Callable[[Words], Words]:
    """Any normal number with the last 14 bits ``low``: bit 13 is the parity of what is kept."""
    return lambda words: _normal(words) & ~0x3FFF | low


def _normal(words: Words) -> Words:
    exponent = 1 + (words >> 23 & 0xFF) % 0xFD
    return words & 0x807FFFFF | exponent << 23


def _with_magnitude(low: int, high: int) -> Callable[[Words], Words]:
    """Either sign, with a magnitude from ``low`` to ``high``."""
    return lambda words: words & 0x80000000 | low + (words & 0x7FFFFFFF) % (high + 1 - low)


CLASSES: dict[str, Callable[[Words], Words]] = {
    "tie, even": _ending_in(0x1000),
    "tie, odd": _ending_in(0x3000),
    "below a tie, even": _ending_in(0x0FFF),
    "below a tie, odd": _ending_in(0x2FFF),
    "above a tie, even": _ending_in(0x1001),
    "above a tie, odd": _ending_in(0x3001),
    "any low bits": _normal,
    "rounded by tfloat32_t(x), dirty": lambda words: _normal(words) + 0x1000,
    "already TF32": lambda words: _normal(words) & ~0x1FFF,
    "denormal": _with_magnitude(1, 0x007FFFFF),
    "denormal tie": lambda words: _with_magnitude(0, 0x007FFFFF)(words) & ~0x1FFF | 0x1000,
    "smallest denormals": _with_magnitude(0, 0x2100),
    "largest denormals": _with_magnitude(0x007FE000, 0x00800FFF),
    "near overflow": _with_magnitude(0x7F7FC000, 0x7F7FFFFF),
    "infinite, or NaN in the low bits": _with_magnitude(0x7F800000, 0x7F801FFF),
    "NaN": _with_magnitude(0x7F800001, 0x7FFFFFFF),
}
ROWS, COLUMNS = 2 * len(CLASSES), 128


def patterns(rng: np.random.Generator, shape: tuple[int, int]) -> Exact:
    """Bits as signed words; row r is of class number r modulo the number of classes."""
    words = rng.integers(0, 1 << 32, shape)
    makers = list(CLASSES.values())
    made = np.stack([makers[r % len(makers)](row) for r, row in enumerate(words)])
    made[14::16, :2] = 0x7F800000, 0xFF800000
    return made.astype(np.uint32).view(np.int32).astype(np.int64)


def rounded(a: Exact, _: Exact) -> Exact:
    """To nearest, ties away from zero, in every bit; a NaN becomes quiet."""
    words = a.astype(np.int32).view(np.uint32).astype(np.int64)
    magnitude = words & 0x7FFFFFFF
    nearest = np.where(magnitude >= 0x7F800000, words, words + 0x1000)
    quiet = np.where(magnitude > 0x7F800000, words | 0x400000, nearest)
    return (quiet >> _LOW << _LOW).astype(np.uint32).view(np.int32).astype(np.int64)


CASES = (
    KernelCase(
        "tma_tfloat32",
        "tma",
        Operand((ROWS, COLUMNS), DType.INT32, patterns),
        ((ROWS, COLUMNS), DType.INT32),
        rounded,
        technique="TMA load of TF32, which rounds floats",
    ),
)
