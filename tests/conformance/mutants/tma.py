"""Faults in tensor copies, and in a pipeline of them."""

from conformance.cases import tma, warp_specialized
from conformance.mutant import Mutant, mutant
from cutegen.status import Status

_CASE = {case.name: case for case in (*tma.CASES, *warp_specialized.CASES)}


def _mutant(name: str, case: str, fault: str, expected: Status, *edits: tuple[str, str]) -> Mutant:
    return mutant(name, _CASE[case], fault, expected, *edits)


MUTANTS = (
    _mutant(
        "tma_too_many_bytes",
        "tma_tail",
        "the barrier expects twice the tile",
        Status.DEADLOCK,
        ("(memory.barrier, sizeof(memory.tile));", "(memory.barrier, 2 * sizeof(memory.tile));"),
    ),
    _mutant(
        "tma_without_wait",
        "tma_tail",
        "the tile is read before it has come",
        Status.RACE,
        ("  wait_barrier(memory.barrier, 0);\n", ""),
    ),
    _mutant(
        "tma_swizzle_mismatch",
        "tma_multicast",
        "the tile is read without the swizzle that TMA wrote it with",
        Status.WRONG_VALUES,
        ("tile(i / size<1>(layout), i % size<1>(layout))", "memory.tile[i]"),
    ),
    _mutant(
        "tma_wrong_mask",
        "tma_multicast",
        "each block loads its half for the first block only",
        Status.DEADLOCK,
        ("uint16_t(3)", "uint16_t(1)"),
    ),
    _mutant(
        "gemm_swizzle_mismatch",
        "tma_wgmma_gemm",
        "TMA writes B with another swizzle than wgmma reads it with",
        Status.WRONG_VALUES,
        (
            "LayoutB{}(_, _, 0), Shape<_32, _64>{}",
            (
                "tile_to_shape(GMMA::Layout_K_SW64_Atom<half_t>{}, Shape<_32, _64>{}), "
                "Shape<_32, _64>{}"
            ),
        ),
        (
            "tma_partition(tma_b, rank, Layout<Int<ClusterM>>{}, group_modes<0, 2>(sB)",
            (
                "tma_partition(tma_b, rank, Layout<Int<ClusterM>>{}, group_modes<0, 2>(make_tensor("
                "make_smem_ptr(shared.b), tile_to_shape(GMMA::Layout_K_SW64_Atom<half_t>{}, "
                "Shape<_32, _64, Int<kStages>>{})))"
            ),
        ),
    ),
    _mutant(
        "gemm_without_arrive",
        "tma_wgmma_gemm",
        "no fence of the warp group before its products",
        Status.RACE,
        ("      warpgroup_arrive();\n", ""),
    ),
    _mutant(
        "gemm_without_wait",
        "tma_wgmma_gemm",
        "a stage is given back while it may still be multiplied",
        Status.WRONG_VALUES,
        ("      warpgroup_wait<0>();\n", ""),
    ),
    _mutant(
        "gemm_without_release",
        "tma_wgmma_gemm",
        "the consumer never gives a stage back",
        Status.DEADLOCK,
        ("      pipeline.consumer_release(state);\n", ""),
    ),
)
