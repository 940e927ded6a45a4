"""Faults in SIMT kernels."""

from conformance.cases.simt import CASES
from conformance.mutant import Mutant, mutant
from cutegen.status import Status

_CASE = {case.name: case for case in CASES}
_BARRIER = ("  __syncthreads();\n", "")


def _mutant(name: str, case: str, fault: str, expected: Status, *edits: tuple[str, str]) -> Mutant:
    return mutant(name, _CASE[case], fault, expected, *edits)


MUTANTS = (
    _mutant(
        "sum_without_last_step",
        "shuffle_sum",
        "the tree of shuffles ends a step early",
        Status.WRONG_VALUES,
        ("offset = 16; offset;", "offset = 16; offset > 1;"),
    ),
    _mutant(
        "sum_divergent_shuffle",
        "shuffle_sum",
        "half of the lanes skip a shuffle that names them all",
        Status.DIVERGENCE,
        ("offset /= 2) sum +=", "offset /= 2) if (lane < 16) sum +="),
    ),
    _mutant(
        "sum_without_row_guard",
        "shuffle_sum",
        "the last block does not stop at the last row",
        Status.OUT_OF_BOUNDS,
        ("  if (row >= rows) return;\n", ""),
    ),
    _mutant(
        "block_sum_without_barrier",
        "block_sum",
        "no barrier between the sums of the warps and their sum",
        Status.RACE,
        _BARRIER,
    ),
    _mutant(
        "block_sum_small_buffer",
        "block_sum",
        "room for four sums of eight",
        Status.OUT_OF_BOUNDS,
        ("float partial[8];", "float partial[4];"),
    ),
    _mutant(
        "block_sum_uninitialized",
        "block_sum",
        "sums of warps that do not exist are added",
        Status.UNINITIALIZED,
        ("float partial[8];", "float partial[16];"),
        ("threadIdx.x < 8 ?", "threadIdx.x < 16 ?"),
    ),
    _mutant(
        "two_pass_without_barrier",
        "two_pass_sum",
        "no barrier between the halvings",
        Status.RACE,
        ("sums[threadIdx.x + half];\n    __syncthreads();", "sums[threadIdx.x + half];"),
    ),
    _mutant(
        "two_pass_wrong_half",
        "two_pass_sum",
        "the upper half of the block is left out",
        Status.WRONG_VALUES,
        ("half = 64; half;", "half = 32; half;"),
    ),
    _mutant(
        "two_pass_one_too_many",
        "two_pass_sum",
        "the second kernel reads a partial sum that nobody wrote",
        Status.WRONG_VALUES,
        ("a->to<float>(), 40);", "a->to<float>(), 41);"),
    ),
    _mutant(
        "histogram_without_atomic",
        "atomic_histogram",
        "bins are counted up without an atomic",
        Status.RACE,
        ("atomicAdd(&bins[a[i]], 1);", "bins[a[i]] += 1;"),
    ),
    _mutant(
        "histogram_uninitialized",
        "atomic_histogram",
        "half of the bins are not cleared",
        Status.UNINITIALIZED,
        ("if (threadIdx.x < 64) bins", "if (threadIdx.x < 32) bins"),
    ),
    _mutant(
        "softmax_without_barrier",
        "online_softmax",
        "no barrier before the states of the warps are merged",
        Status.RACE,
        _BARRIER,
    ),
    _mutant(
        "softmax_wrong_merge",
        "online_softmax",
        "a sum is not scaled to the common maximum",
        Status.WRONG_VALUES,
        ("x.sum * expf(x.top - top) +", "x.sum +"),
    ),
    _mutant(
        "layernorm_small_shared",
        "layernorm",
        "dynamic shared memory for half of a row",
        Status.OUT_OF_BOUNDS,
        ("columns * sizeof(float)", "columns * sizeof(float) / 2"),
    ),
    _mutant(
        "layernorm_without_barrier",
        "layernorm",
        "no barrier between the total and its readers",
        Status.RACE,
        ("partial[3];\n  __syncthreads();", "partial[3];"),
    ),
    _mutant(
        "layernorm_too_wide",
        "layernorm",
        "more threads than a block may have",
        Status.LAUNCH_ERROR,
        ("<<<a->a_shape[0], 128,", "<<<a->a_shape[0], 1056,"),
    ),
    _mutant(
        "layernorm_shared_limit",
        "layernorm",
        "more dynamic shared memory than was asked for by an attribute",
        Status.SMEM_LIMIT,
        ("columns * sizeof(float)", "columns * 400"),
    ),
    _mutant(
        "scan_off_by_one",
        "inclusive_scan",
        "the first lane that should add a neighbour does not",
        Status.WRONG_VALUES,
        ("lane >= offset", "lane > offset"),
    ),
    _mutant(
        "scan_in_place",
        "exclusive_scan",
        "both buffers are one",
        Status.RACE,
        ("*next = buffers + n", "*next = buffers"),
    ),
    _mutant(
        "scan_small_buffer",
        "exclusive_scan",
        "shared memory for one of two buffers",
        Status.OUT_OF_BOUNDS,
        ("2 * n * sizeof(int)", "n * sizeof(int)"),
    ),
    _mutant(
        "transpose_leading_dimension",
        "transpose_static",
        "the output is written with the input's row length",
        Status.WRONG_VALUES,
        ("out[(c + j) * rows", "out[(c + j) * columns"),
    ),
    _mutant(
        "transpose_without_predicate",
        "transpose_static",
        "columns past the end are written",
        Status.UNINITIALIZED,
        ("if (c + j < columns && r + threadIdx.x < rows) out", "if (r + threadIdx.x < rows) out"),
    ),
    _mutant(
        "transpose_swizzle_mismatch",
        "transpose_dynamic",
        "reads are swizzled otherwise than writes",
        Status.WRONG_VALUES,
        ("((c & ~1) ^ (r & 31) * 2)", "((c & ~1) ^ (r & 15) * 2)"),
    ),
    _mutant(
        "compaction_divergent_vote",
        "compaction",
        "only lanes with a positive value vote",
        Status.DIVERGENCE,
        (
            "unsigned const votes = __ballot_sync(FULL, value > 0);",
            "unsigned votes = 0;\n    if (value > 0) votes = __ballot_sync(FULL, true);",
        ),
    ),
    _mutant(
        "compaction_off_by_one",
        "compaction",
        "a lane counts itself among those before it",
        Status.WRONG_VALUES,
        ("(1u << lane) - 1", "(2u << lane) - 1"),
    ),
    _mutant(
        "vector_wrong_predicate",
        "vector_scale",
        "the last vector reaches past the end",
        Status.OUT_OF_BOUNDS,
        ("if (i + 4 <= n)", "if (i < n)"),
    ),
    _mutant(
        "vector_misaligned",
        "vector_scale",
        "vectors start at odd elements",
        Status.MISALIGNED,
        ("float4 const*>(a + i)", "float4 const*>(a + (i + 5 <= n ? i + 1 : i))"),
    ),
    _mutant(
        "half2_one_too_many",
        "half2_fma",
        "one thread too many takes part",
        Status.OUT_OF_BOUNDS,
        ("if (i < pairs)", "if (i <= pairs)"),
    ),
    _mutant(
        "argmax_without_tie_break",
        "argmax",
        "of equal values the last lane's wins",
        Status.WRONG_VALUES,
        ("(other == top && there < where)", "(other == top && there > where)"),
    ),
    _mutant(
        "stencil_small_tile",
        "stencil",
        "no room for the right halo",
        Status.OUT_OF_BOUNDS,
        ("tile[128 + 4]", "tile[128 + 2]"),
    ),
    _mutant(
        "stencil_short_halo",
        "stencil",
        "half of the right halo is not loaded",
        Status.UNINITIALIZED,
        ("i < 132;", "i < 130;"),
    ),
    _mutant(
        "stencil_shifted",
        "stencil",
        "the tile starts one element late",
        Status.WRONG_VALUES,
        ("blockIdx.x * 128 - 2", "blockIdx.x * 128 - 1"),
    ),
    _mutant(
        "dot_divergent_barrier",
        "dot_double",
        "only the threads that add reach the barrier",
        Status.DIVERGENCE,
        (
            "if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];\n"
            "    __syncthreads();",
            "if (threadIdx.x < half) {\n"
            "      sums[threadIdx.x] += sums[threadIdx.x + half];\n"
            "      __syncthreads();\n    }",
        ),
    ),
    _mutant(
        "sort_without_barrier",
        "bitonic_sort",
        "no barrier between the steps of the network",
        Status.RACE,
        ("      __syncthreads();\n", ""),
    ),
    _mutant(
        "matmul_without_second_barrier",
        "int_matmul",
        "tiles are overwritten while others still read them",
        Status.RACE,
        ("tile_b[i][x];\n    __syncthreads();", "tile_b[i][x];"),
    ),
    _mutant(
        "matmul_without_column_guard",
        "int_matmul",
        "the last row is read past its end, for columns that nobody writes",
        Status.OUT_OF_BOUNDS,
        ("start + y < k && column < n ?", "start + y < k ?"),
    ),
    _mutant(
        "matmul_leading_dimension",
        "int_matmul",
        "the second matrix is read with the first one's row length",
        Status.OUT_OF_BOUNDS,
        ("b[(start + y) * n + column]", "b[(start + y) * k + column]"),
    ),
    _mutant(
        "exchange_wrong_lane",
        "warp_transpose",
        "values go one lane down instead of across",
        Status.WRONG_VALUES,
        ("__shfl_xor_sync(FULL, sent, bit)", "__shfl_down_sync(FULL, sent, bit)"),
    ),
)
