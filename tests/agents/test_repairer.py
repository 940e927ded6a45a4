"""A repair is small, and keeps the design."""

from collections.abc import Callable

import pytest

from cutegen.agents.ask import LostStep
from cutegen.agents.models.replay import ReplayChat
from cutegen.agents.repairer import DEFAULT_BUDGET, repair
from cutegen.agents.reply import OutOfIdeas
from cutegen.agents.request import RepairRequest
from cutegen.agents.revision import Revision
from cutegen.agents.structure_guard import lowered_structure

Replay = Callable[..., ReplayChat]


def _edit(intent: str, search: str, replace: str) -> str:
    return f"INTENT: {intent}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


GOOD = _edit("mend the guard", "  if (i <= n) {\n", "  if (i < n) {\n")
SCALAR = _edit(
    "one element per thread",
    "__global__ void twice(float4 const* x, float4* out, int64_t n) {\n",
    "__global__ void twice(float const* x, float* out, int64_t n) {\n",
) + (
    "<<<<<<< SEARCH\n"
    "    float4 const v = x[i];\n"
    "    out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);\n"
    "=======\n"
    "    out[i] = 2 * x[i];\n"
    ">>>>>>> REPLACE\n"
    "<<<<<<< SEARCH\n"
    "((float4 const*)a->x, (float4*)a->out, n);\n"
    "=======\n"
    "(a->x, a->out, n);\n"
    ">>>>>>> REPLACE\n"
)
LONG = _edit(
    "rewrite",
    "  if (i <= n) {\n",
    "  if (i < n) {\n" + "    __syncwarp();\n" * DEFAULT_BUDGET,
)


def test_a_small_repair_is_applied(repair_request: RepairRequest, replay: Replay) -> None:
    value = repair(replay("repairer", GOOD), repair_request).value
    assert isinstance(value, Revision)
    assert value.source == repair_request.source.replace("i <= n", "i < n")
    assert value.changed_lines == 2


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (LONG, f"changes {DEFAULT_BUDGET + 2} lines, and at most {DEFAULT_BUDGET}"),
        (SCALAR, "copies falls from vectorized-128 to scalar"),
        (GOOD.replace("i <= n", "i =< n"), "does not occur"),
    ],
)
def test_another_is_refused_once_and_then_lost(
    repair_request: RepairRequest, replay: Replay, refused: str, reason: str
) -> None:
    mended = repair(replay("repairer", refused, GOOD), repair_request)
    assert isinstance(mended.value, Revision)
    assert mended.usage.calls == 2
    lost = repair(replay("repairer", refused, refused), repair_request).value
    assert isinstance(lost, LostStep)
    assert reason in lost.reason


def test_a_simplification_can_be_allowed(repair_request: RepairRequest, replay: Replay) -> None:
    value = repair(replay("repairer", SCALAR), repair_request, allow_simplify=True).value
    assert isinstance(value, Revision)
    assert "float4" not in value.source


def test_a_whole_file_where_the_run_asks_for_one(
    repair_request: RepairRequest, replay: Replay
) -> None:
    request = repair_request.model_copy(update={"rewrite": True})
    long = "  if (i < n) {\n" + "    __syncwarp();\n" * DEFAULT_BUDGET
    source = request.source.replace("  if (i <= n) {\n", long)
    whole = f"INTENT: mend the guard\n```cuda\n{source}```\n"
    value = repair(replay("repairer", GOOD, whole), request).value  # edits are asked for again
    assert isinstance(value, Revision)
    assert (value.source, value.intent) == (source, "mend the guard")
    assert value.changed_lines > DEFAULT_BUDGET
    scalar = whole.replace("float4", "float")
    lost = repair(replay("repairer", scalar, scalar), request).value
    assert isinstance(lost, LostStep)
    assert "copies falls" in lost.reason
    same = f"```cuda\n{request.source}```\n"
    unchanged = repair(replay("repairer", same, same), request).value
    assert isinstance(unchanged, LostStep)
    assert "change nothing" in unchanged.reason
    none = repair(replay("repairer", "OUT_OF_IDEAS: it is lost\n"), request).value
    assert none == OutOfIdeas(reason="it is lost")


def test_the_budget_is_the_callers(repair_request: RepairRequest, replay: Replay) -> None:
    value = repair(replay("repairer", GOOD, GOOD), repair_request, budget=1).value
    assert isinstance(value, LostStep)


def test_no_repair_is_an_answer(repair_request: RepairRequest, replay: Replay) -> None:
    value = repair(replay("repairer", "OUT_OF_IDEAS: tried all"), repair_request).value
    assert value == OutOfIdeas(reason="tried all")


TILED = """\
using namespace cute;
__global__ void product(float const* A, float const* B, float* C, int N, int K) {
  __shared__ float tile[2][32 * 32];
  int stage = 0;
  auto layout = composition(Swizzle<3, 2, 3>{}, Layout<Shape<_32, _32>>{});
  auto mma = make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{});
  for (int k = 0; k < K; k += 32) {
    tile[stage][threadIdx.x] = A[k];
    __syncthreads();
    gemm(mma, tile[stage], B, C);
    stage ^= 1;
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "loss"),
    [
        ("SM80_16x8x8_F32TF32TF32F32_TN", "UniversalFMA<float, float>", "tensor cores"),
        ("stage ^= 1", "stage = 0", "staging falls from multi-stage to single"),
        ("Swizzle<3, 2, 3>{}", "Identity{}", "swizzle falls from yes to no"),
        ("__shared__ float tile", "float tile", "smem falls from static to none"),
    ],
)
def test_structure_that_a_repair_may_not_give_up(old: str, new: str, loss: str) -> None:
    lowered = TILED.replace(old, new)
    assert lowered != TILED
    assert loss in lowered_structure(TILED, lowered)
    assert not lowered_structure(lowered, TILED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k < K", "k + 32 <= K"),
        ("tile[2][32 * 32]", "tile[2][16 * 16]"),
        ("__syncthreads();", "__syncthreads();\n    __syncthreads();"),
        ("__shared__ float tile[2][32 * 32];", "extern __shared__ float tile[][32 * 32];"),
    ],
)
def test_structure_that_a_repair_keeps(old: str, new: str) -> None:
    assert old in TILED
    assert not lowered_structure(TILED, TILED.replace(old, new))
