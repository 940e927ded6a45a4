"""SIMT kernels, without CuTe."""

import numpy as np

from conformance.case import UNIT_ROUNDOFF, Bound, Exact, KernelCase, Operand, integers
from cutegen.spec import DType

INT = DType.INT32
_SMALL = integers(-50, 50)


def _absolute_row_sums(a: Exact, _: Exact) -> Exact:
    return np.abs(a).sum(1, keepdims=True)


def _softmax(a: Exact, _: Exact) -> Exact:
    e = np.exp(a - a.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def _layernorm(a: Exact, b: Exact) -> Exact:
    middle = a - a.mean(1, keepdims=True)
    return np.asarray(middle / np.sqrt((middle**2).mean(1, keepdims=True) + 1e-5) * b)


def _compact(a: Exact, _: Exact) -> Exact:
    out = np.zeros_like(a)
    for row, kept in zip(out, (r[r > 0] for r in a), strict=True):
        row[: len(kept)] = kept
    return out


def _neighbours(a: Exact, _: Exact) -> Exact:
    return np.convolve(a[0], np.ones(5, np.int64), "same")


CASES = (
    KernelCase(
        "shuffle_sum",
        "simt",
        Operand((10, 333)),
        ((10, 1), DType.FLOAT32),
        lambda a, _: a.sum(1),
        bound=Bound(16, magnitude=_absolute_row_sums),
        technique="reduction: a tree of shuffles",
    ),
    KernelCase(
        "block_sum",
        "simt",
        Operand((5, 3000)),
        ((5, 1), DType.FLOAT32),
        lambda a, _: a.sum(1),
        bound=Bound(22, magnitude=_absolute_row_sums),
        technique="reduction: warps, then shared memory",
    ),
    KernelCase(
        "two_pass_sum",
        "simt",
        Operand((100, 333)),
        ((1, 1), DType.FLOAT32),
        lambda a, _: a.sum(),
        bound=Bound(24, magnitude=lambda a, _: np.abs(a).sum()),
        technique="reduction: two kernels and a workspace",
    ),
    KernelCase(
        "atomic_histogram",
        "simt",
        Operand((50, 101), INT, integers(0, 64)),
        ((1, 64), INT),
        lambda a, _: np.bincount(a.ravel(), minlength=64),
        technique="atomics in shared and global memory",
    ),
    KernelCase(
        "atomic_extrema",
        "simt",
        Operand((64, 75), INT, integers(-1000, 1000)),
        ((2, 75), INT),
        lambda a, _: np.stack([a.max(0), a.min(0)]),
        technique="atomic maximum and minimum",
    ),
    KernelCase(
        "online_softmax",
        "simt",
        Operand((6, 777)),
        ((6, 777), DType.FLOAT32),
        _softmax,
        bound=Bound(40, magnitude=_softmax),
        technique="online softmax",
    ),
    KernelCase(
        "layernorm",
        "simt",
        Operand((6, 500)),
        ((6, 500), DType.FLOAT32),
        _layernorm,
        b=Operand((1, 500)),
        bound=Bound(40, magnitude=lambda a, b: np.abs(_layernorm(a, b)) + np.abs(b)),
        technique="layer normalisation, dynamic shared memory",
    ),
    KernelCase(
        "inclusive_scan",
        "simt",
        Operand((3, 1024), INT, _SMALL),
        ((3, 1024), INT),
        lambda a, _: a.cumsum(1),
        technique="scan: shuffles and vectors",
    ),
    KernelCase(
        "exclusive_scan",
        "simt",
        Operand((4, 200), INT, _SMALL),
        ((4, 200), INT),
        lambda a, _: a.cumsum(1) - a,
        technique="scan: two buffers of dynamic shared memory",
    ),
    KernelCase(
        "transpose_static",
        "simt",
        Operand((70, 45)),
        ((45, 70), DType.FLOAT32),
        lambda a, _: a.T,
        technique="transpose: padded static shared memory",
    ),
    KernelCase(
        "transpose_dynamic",
        "simt",
        Operand((64, 128), DType.FLOAT16),
        ((128, 64), DType.FLOAT16),
        lambda a, _: a.T,
        technique="transpose: swizzled dynamic shared memory, 16 bit",
    ),
    KernelCase(
        "compaction",
        "simt",
        Operand((5, 100), INT, _SMALL),
        ((5, 100), INT),
        _compact,
        technique="votes and population counts",
    ),
    KernelCase(
        "vector_scale",
        "simt",
        Operand((1, 1003)),
        ((1, 1003), DType.FLOAT32),
        lambda a, _: a / 2,
        technique="128-bit accesses with a tail",
    ),
    KernelCase(
        "half2_fma",
        "simt",
        Operand((4, 250), DType.FLOAT16),
        ((4, 250), DType.FLOAT16),
        lambda a, b: a * b + a,
        b=Operand((4, 250), DType.FLOAT16),
        technique="packed half arithmetic",
    ),
    KernelCase(
        "to_bfloat16",
        "simt",
        Operand((3, 333)),
        ((3, 333), DType.BFLOAT16),
        lambda a, _: a,
        technique="conversion with rounding to nearest even",
    ),
    KernelCase(
        "argmax",
        "simt",
        Operand((7, 150), draw=integers(-20, 20)),
        ((7, 1), INT),
        lambda a, _: a.argmax(1),
        technique="reduction of pairs, ties by position",
    ),
    KernelCase(
        "stencil",
        "simt",
        Operand((1, 1000), INT, _SMALL),
        ((1, 1000), INT),
        _neighbours,
        technique="stencil with a halo in shared memory",
    ),
    KernelCase(
        "dot_double",
        "simt",
        Operand((40, 100), DType.FLOAT64),
        ((1, 1), DType.FLOAT64),
        lambda a, b: (a * b).sum(),
        b=Operand((40, 100), DType.FLOAT64),
        bound=Bound(24, UNIT_ROUNDOFF[DType.FLOAT64], lambda a, b: np.abs(a * b).sum()),
        technique="reduction in double precision",
    ),
    KernelCase(
        "bitonic_sort",
        "simt",
        Operand((3, 512), INT, integers(-300, 300)),
        ((3, 512), INT),
        lambda a, _: np.sort(a, 1),
        technique="sorting network in shared memory",
    ),
    KernelCase(
        "int_matmul",
        "simt",
        Operand((40, 50), INT, _SMALL),
        ((40, 37), INT),
        lambda a, b: a @ b,
        b=Operand((50, 37), INT, _SMALL),
        technique="tiled product with tails",
    ),
    KernelCase(
        "warp_transpose",
        "simt",
        Operand((32, 32), INT, _SMALL),
        ((32, 32), INT),
        lambda a, _: a.T,
        technique="transpose in registers by exchanges",
    ),
)
