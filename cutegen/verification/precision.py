"""The precision policy: how large an error an honest kernel may make.

Error is measured against a float64 reference, in the 2-norm, relative to its norm. With
``u`` the unit roundoff of the precision that sums are taken in, and ``n`` the terms that the
reference sums, a candidate passes when

    error <= FACTOR * error of PyTorch at the spec's math mode
             + sensitivity * (2 + n**0.5 / 4)
             + u * (3 + 0.4 * n**0.5)   and what a lower math mode or a narrow output adds

*PyTorch's error* holds what the math mode and the output's type cost anybody.

*Sensitivity* is how far the float64 result moves when every input is perturbed by one unit
roundoff: a kernel that is exact for inputs which no float could tell from the given ones is
right, however ill-conditioned the function is (``exp`` of 30). A computed sum is the exact
sum of terms perturbed by up to ``n**0.5 * u`` with high probability (N. J. Higham and
T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5),
2019; the worst case is ``n * u``), hence the root beside it: it counts where sums cancel.

*The last line* is what a sum costs by itself. Taken in order, the roundings of the partial
sums do a random walk: about ``0.3 * n**0.5 * u`` of the result's norm, for zero-mean and for
positive terms alike. An fp32 product on an H200 shows just that: 0.30 at n = 4096, where
PyTorch makes the same error. PyTorch's CPU reductions sum in blocks and make much less, so
their error cannot be the measure. The 3 is for fast intrinsics (``ex2.approx`` and
``__fdividef`` err by up to 4 u each, typically by one), which PyTorch does not use.

Where terms are equal to each other (sparse data, equal rows), their roundings are too, and
the errors of a sum taken in order add up instead of walking: ``0.15 * n * u`` stands there for
the root. Lost precision is caught on other data.

The line is cut off at a quarter of what one-pass TF32 makes of a product (2.6e-4 on
zero-mean data), so a lower precision can never hide below it.

A norm over a billion elements does not see one wrong element; so every element must lie
within ``ELEMENT_FACTOR`` of the same bound, taken with the root mean square of the
reference and with the largest single error that PyTorch and the perturbation make.
"""

from collections.abc import Iterable
from math import sqrt

import torch

from cutegen.frozen import Frozen
from cutegen.spec import DType, MathMode

FACTOR = 2.0
ELEMENT_FACTOR = 8.0
_INTRINSICS = 3.0
_SUM = 0.4  # times the root of the terms; a sum taken in order makes 0.3
_SUM_OF_EQUALS = 0.15  # times the terms; the worst case is 1
_SENSITIVITY = 2.0
_SENSITIVITY_OF_SUMS = 0.25
_FLOOR_LIMIT = 6.5e-5  # a quarter of one-pass TF32's error

_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
# Tensor cores cut operands off unless the kernel rounds them, which doubles PyTorch's error.
_OPERANDS = {
    MathMode.FP32: 0.0,
    MathMode.TF32: 2.0**-11,
    MathMode.BF16: 2.0**-9,
    MathMode.FP16: 2.0**-12,
}
# Rounding is part of PyTorch's error; this is for the few results that round to another side.
_NARROW_OUTPUT = 0.25


class Tolerance(Frozen):
    """The constant part of the bound for one output of one case.

    ``working`` is the unit roundoff sums are taken in; ``floor`` is a relative error;
    ``amplification`` is what the sensitivity is multiplied by.
    """

    working: float
    floor: float
    amplification: float

    def bound(self, native: float, sensitivity: float) -> float:
        """The largest relative error that passes, given PyTorch's and the sensitivity."""
        return FACTOR * native + self.amplification * sensitivity + self.floor


def working_roundoff(dtypes: Iterable[DType]) -> float:
    """Unit roundoff of the precision that sums are taken in, for outputs of these types."""
    return _DOUBLE if all(dtype is DType.FLOAT64 for dtype in dtypes) else _SINGLE


def tolerance(dtype: DType, mode: MathMode, terms: int, *, equal_terms: bool = False) -> Tolerance:
    """The constant part for an output of ``dtype`` behind sums of ``terms`` terms in all.

    ``equal_terms`` says that the data make many terms of a sum equal to each other.
    """
    working = working_roundoff([dtype])
    growth = _SUM * sqrt(terms)
    if equal_terms:
        growth = max(growth, _SUM_OF_EQUALS * terms)
    sums = min(working * (_INTRINSICS + growth), _FLOOR_LIMIT)
    stored = torch.finfo(dtype.torch).eps / 2
    rounding = _NARROW_OUTPUT * stored if stored > working else 0.0
    return Tolerance(
        working=working,
        floor=sums + max(rounding, _OPERANDS[mode]),
        amplification=_SENSITIVITY + _SENSITIVITY_OF_SUMS * sqrt(terms),
    )
