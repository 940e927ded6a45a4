"""Faults in kernels on CuTe's universal atoms."""

from conformance.cases.cute_copy import CASES
from conformance.mutant import mutant
from cutegen.status import Status

_CASE = {case.name: case for case in CASES}

MUTANTS = (
    mutant(
        "tiled_copy_wrong_predicate",
        _CASE["tiled_copy_tail_37x100"],
        "tiles that are whole in columns count as whole",
        Status.OUT_OF_BOUNDS,
        ("(blockIdx.y + 1) * 16 <= rows && ", ""),
    ),
    mutant(
        "swizzled_transpose_without_barrier",
        _CASE["transpose_swizzled"],
        "no barrier between writing and reading the tile",
        Status.RACE,
        ("  __syncthreads();\n", ""),
    ),
    mutant(
        "fma_gemm_leading_dimension",
        _CASE["fma_gemm"],
        "the output is written with the wrong row length, so that blocks overlap",
        Status.RACE,
        (
            "make_tensor(make_gmem_ptr(C), make_shape(M, N), LayoutRight{})",
            "make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(M, _1{}))",
        ),
    ),
    mutant(
        "fma_gemm_without_second_barrier",
        _CASE["fma_gemm"],
        "tiles are overwritten while others still read them",
        Status.RACE,
        ("tCrC);\n    __syncthreads();\n  }", "tCrC);\n  }"),
    ),
    mutant(
        "relayout_misaligned",
        _CASE["half_relayout"],
        "vectors of eight halves start in the middle of a block",
        Status.MISALIGNED,
        ("&mOut(r, c * 8), Layout", "&mOut(r, c * 8) + 4 * (i == 0), Layout"),
    ),
)
