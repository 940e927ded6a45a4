"""CuTe on universal atoms."""

import numpy as np

from conformance.case import Bound, Exact, KernelCase, Operand, integers
from cutegen.spec import DType


def _blocks(a: Exact, _: Exact) -> Exact:
    rows, columns = a.shape
    return a.reshape(rows // 8, 8, columns // 8, 8).transpose(0, 2, 1, 3)


CASES = (
    *(
        KernelCase(
            f"tiled_copy_tail_{rows}x{columns}",
            "cute_copy",
            Operand((rows, columns)),
            ((rows, columns), DType.FLOAT32),
            lambda a, _: -a,
            kernel="tiled_copy_tail",
            technique="tiled copy with predication",
        )
        for rows, columns in ((32, 128), (37, 100))
    ),
    KernelCase(
        "transpose_swizzled",
        "cute_copy",
        Operand((64, 128)),
        ((128, 64), DType.FLOAT32),
        lambda a, _: a.T,
        technique="transpose through swizzled shared memory",
    ),
    KernelCase(
        "fma_gemm",
        "cute_copy",
        Operand((64, 48)),
        ((64, 96), DType.FLOAT32),
        lambda a, b: a @ b.T,
        b=Operand((96, 48)),
        bound=Bound(48, magnitude=lambda a, b: np.abs(a) @ np.abs(b).T),
        technique="tiled product on the FMA atom",
    ),
    KernelCase(
        "half_relayout",
        "cute_copy",
        Operand((24, 40), DType.FLOAT16),
        ((24, 40), DType.FLOAT16),
        _blocks,
        technique="hierarchical layouts, 128-bit copies of halves",
    ),
    KernelCase(
        "cute_row_sums",
        "cute_copy",
        Operand((5, 77), DType.INT8, integers(-128, 128)),
        ((5, 1), DType.INT32),
        lambda a, _: a.sum(1),
        technique="partitions of a row, predicated by coordinates",
    ),
)
