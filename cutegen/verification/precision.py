"""The precision policy: how large an error an honest kernel may make.

Error is measured against a float64 reference, in the 2-norm, relative to its norm. A
candidate passes when

    error <= FACTOR * error of PyTorch at the spec's math mode
             + 2 * sensitivity + floor

*Sensitivity* is how far the float64 result moves when every input is perturbed by one unit
roundoff of the working precision: a kernel that is exact for inputs which no float could
tell from the given ones is right, however ill-conditioned the function is (``exp`` of 30).
The *floor* keeps a perfect baseline from refusing an honest kernel: a few roundoffs for the
fast intrinsics, plus the root of the longest sum, as sums in another order than PyTorch's
do a random walk. It stays under a quarter of what one-pass TF32 makes of a product
(2.6e-4 on zero-mean data), so a lower precision can never hide below it.

A norm over a billion elements does not see one wrong element; so every element must lie
within ``ELEMENT_FACTOR`` of the same bound, taken with the root mean square of the
reference and with the largest single error that PyTorch and the perturbation make.
"""

from collections.abc import Iterable
from math import sqrt

import torch

from cutegen.frozen import Frozen
from cutegen.spec import DType, MathMode

FACTOR = 3.0
ELEMENT_FACTOR = 8.0
_INTRINSICS = 8.0  # roundoffs; __expf and __fdividef are good to 2-4
_FLOOR_LIMIT = 6.5e-5  # a quarter of one-pass TF32's error

_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
_MODE_ROUNDOFF = {
    MathMode.FP32: _SINGLE,
    MathMode.TF32: 2.0**-11,
    MathMode.BF16: 2.0**-8,
    MathMode.FP16: 2.0**-11,
}


class Tolerance(Frozen):
    """The constant part of the bound for one output of one case.

    ``working`` is the unit roundoff sums are taken in; ``floor`` is a relative error.
    """

    working: float
    floor: float


def working_roundoff(dtypes: Iterable[DType]) -> float:
    """Unit roundoff of the precision that sums are taken in, for outputs of these types."""
    return _DOUBLE if all(dtype is DType.FLOAT64 for dtype in dtypes) else _SINGLE


def tolerance(dtype: DType, mode: MathMode, terms: int) -> Tolerance:
    """The floor for an output of ``dtype`` behind sums of up to ``terms`` terms."""
    working = working_roundoff([dtype])
    sums = min(working * (_INTRINSICS + 2 * sqrt(terms)), _FLOOR_LIMIT)
    stored = torch.finfo(dtype.torch).eps / 2
    # Half types round once on the way out, and a lower math mode rounds the operands.
    rounding = stored if stored > working else 0.0
    operands = _MODE_ROUNDOFF[mode] if mode is not MathMode.FP32 else 0.0
    return Tolerance(working=working, floor=sums + max(rounding, operands))
