"""Faults in asynchronous copies and pipelines of them."""

from conformance.cases.cp_async import CASES
from conformance.mutant import Mutant, mutant
from cutegen.status import Status

_CASE = {case.name: case for case in CASES}


def _mutant(name: str, case: str, fault: str, expected: Status, *edits: tuple[str, str]) -> Mutant:
    return mutant(name, _CASE[case], fault, expected, *edits)


MUTANTS = (
    _mutant(
        "staged_waits_for_too_few",
        "staged_scale",
        "a stage is read while its copies may be under way",
        Status.RACE,
        ("cp_async_wait<1>", "cp_async_wait<2>"),
    ),
    _mutant(
        "staged_without_fence",
        "staged_scale",
        "copies are in no group, so that no wait waits for them",
        Status.WRONG_VALUES,
        ("    cp_async_fence();\n", ""),
    ),
    _mutant(
        "staged_without_barrier",
        "staged_scale",
        "threads read what other threads copied, without a barrier",
        Status.RACE,
        ("    __syncthreads();\n", ""),
    ),
    _mutant(
        "staged_small_ring",
        "staged_scale",
        "two stages of memory for three",
        Status.OUT_OF_BOUNDS,
        ("ring[3][1024]", "ring[2][1024]"),
    ),
    _mutant(
        "staged_misaligned",
        "staged_scale",
        "16-byte copies from odd elements",
        Status.MISALIGNED,
        ("(a + tile * 1024)", "(a + tile * 1024 + 1)"),
    ),
    _mutant(
        "zero_fill_off_by_one",
        "zero_fill",
        "the row past the end is read",
        Status.OUT_OF_BOUNDS,
        ("row < rows && column", "row <= rows && column"),
    ),
    _mutant(
        "zero_fill_without_wait",
        "zero_fill",
        "the tile is read before its copies have been waited for",
        Status.WRONG_VALUES,
        ("  cp_async_wait<0>();\n", ""),
    ),
    _mutant(
        "multistage_small_shared",
        "multistage_gemm",
        "dynamic shared memory for two of three stages",
        Status.OUT_OF_BOUNDS,
        ("3 * (64 + 32) * 32", "2 * (64 + 32) * 32"),
    ),
    _mutant(
        "multistage_wrong_stage",
        "multistage_gemm",
        "the next stage is multiplied instead of the present one",
        Status.WRONG_VALUES,
        ("from_a(_, _, _, k % 3)", "from_a(_, _, _, (k + 1) % 3)"),
    ),
    _mutant(
        "multistage_without_predicate",
        "multistage_gemm_tail",
        "rows past the end of A are copied",
        Status.OUT_OF_BOUNDS,
        ("(0, m, 0, 0)) < M;", "(0, m, 0, 0)) < M + 64;"),
    ),
    _mutant(
        "multistage_leading_dimension",
        "multistage_gemm",
        "rows of A are taken to be as long as those of C",
        Status.WRONG_VALUES,
        ("make_shape(M, K), make_stride(K, _1{})", "make_shape(M, K), make_stride(N, _1{})"),
    ),
    _mutant(
        "multistage_swizzle_mismatch",
        "multistage_gemm",
        "B is read without the swizzle that it was written with",
        Status.WRONG_VALUES,
        (
            "get_slice(threadIdx.x).partition_S(sB);",
            (
                "get_slice(threadIdx.x).partition_S(make_tensor(sB.data(), tile_to_shape("
                "Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Shape<_32, _32, _3>{})));"
            ),
        ),
    ),
)
