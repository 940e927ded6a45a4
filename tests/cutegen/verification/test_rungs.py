"""What the rungs beside accuracy find: tile edges, stale results, state, answers without work."""

from collections.abc import Callable

import pytest
import torch

from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.edge_shapes import edge_cases
from cutegen.verification.exactness import exact_check, keeps_integers
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution
from cutegen.verification.tiles import tiles_of, where_in_tiles
from cutegen.verification.verdict import Verdict

Climbed = Callable[..., Verdict]

TILES = "constexpr int kBlockM = 16;\nconstexpr int kBlockN = 24;\nconstexpr int kBlockK = 8;\n"
SIZES = "int64_t m = a->left_shape[0], k = a->left_shape[1], n = a->right_shape[1];\n"
PRODUCT = """
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a->left[i * k + l] * a->right[l * n + j];
      a->out[i * n + j] = sum;
    }
"""
RELU = """
  int64_t n = a->x_shape[0] * a->x_shape[1];
  for (int64_t i = 0; i < n; ++i) a->out[i] = a->x[i] > 0 ? a->x[i] : 0.f;
"""


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return left @ right


@pytest.fixture(scope="module")
def product() -> KernelSpec:
    return KernelSpec.from_callable(_product, [torch.randn(64, 96), torch.randn(96, 80)])


@pytest.fixture(scope="module")
def relu() -> KernelSpec:
    return KernelSpec.from_callable(torch.relu, [torch.randn(48, 501)], name="relu")


def test_tiles_are_read_by_role_and_place_an_element() -> None:
    tiles = tiles_of(TILES)
    assert tiles.rows is not None
    assert tiles.columns is not None
    assert tiles.depth is not None
    assert (tiles.rows.extent, tiles.columns.extent, tiles.depth.extent) == (16, 24, 8)
    assert "tile (2, 1)" in where_in_tiles((36, 30), tiles)
    assert "(4, 6)" in where_in_tiles((36, 30), tiles)


def test_edges_lie_beside_the_candidates_own_tiles(product: KernelSpec) -> None:
    shapes = {
        case.name: [tensor.shape for tensor in case.of("input")]
        for case in edge_cases(product, tiles_of(TILES))
    }
    assert shapes["edge-one"] == [(1, 1), (1, 1)]
    assert shapes["edge-tile-minus-1"] == [(15, 7), (7, 23)]
    assert shapes["edge-tile-plus-1"] == [(17, 9), (9, 25)]
    assert shapes["edge-three-tiles"] == [(48, 24), (24, 72)]


def test_a_mistake_at_one_edge_only_is_found_there(climbed: Climbed, product: KernelSpec) -> None:
    at_the_edge = "if (m == kBlockM + 1) a->out[(m - 1) * n] += 1;"
    verdict = climbed(product, SIZES + PRODUCT + at_the_edge, helpers=TILES)
    assert verdict.status is Status.WRONG_VALUES
    assert verdict.evidence.check == "edge-tile-plus-1/exact"
    assert verdict.evidence.errors[0].first_bad_index == (16, 0)
    hints = " ".join(verdict.evidence.hints)
    assert "tile (1, 0) of 16x24" in hints
    assert "errors of the elements" in hints


def test_edge_shapes_may_be_refused_but_not_check_shapes(
    climbed: Climbed, product: KernelSpec
) -> None:
    refusing = SIZES + "if (m == 1 && n == 1) return cudaErrorNotSupported;" + PRODUCT
    verdict = climbed(product, refusing, helpers=TILES)
    assert verdict.passed, verdict.evidence
    assert verdict.evidence.facts["edge_cases_refused"] == ["edge-one"]


def test_wrong_places_look_like_a_layout(climbed: Climbed, relu: KernelSpec) -> None:
    shifted = RELU.replace("a->out[i]", "a->out[(i + 1) % n]")
    verdict = climbed(relu, shifted)
    assert verdict.status is Status.WRONG_VALUES
    assert verdict.evidence.facts["pattern"] == "layout"


def test_only_references_that_keep_integers_are_checked_to_the_bit(relu: KernelSpec) -> None:
    assert keeps_integers(relu)
    for function in (torch.sigmoid, lambda x: x * 0.5, torch.mean):
        assert not keeps_integers(KernelSpec.from_callable(function, [torch.randn(8, 64)]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sums_of_integers_stay_exact_in_every_type(dtype: torch.dtype) -> None:
    spec = KernelSpec.from_callable(
        _product, [torch.randn(32, 700).to(dtype), torch.randn(700, 24).to(dtype)]
    )
    drawn = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
    check = exact_check(spec, spec.timed, drawn, 0)
    assert check is not None
    assert 0 < check.largest_sum <= 256
    assert bool(check.targets[0].exact.any())
    rounded = [tensor.bfloat16().float() for tensor in check.inputs.values()]
    assert torch.equal((rounded[0] @ rounded[1]).double(), check.targets[0].exact)


def test_a_result_kept_for_a_checksum_is_stale(climbed: Climbed, product: KernelSpec) -> None:
    """It recognises inputs by their first element: almost equal inputs get the old answer."""
    memory = "static std::vector<float> kept; static float seen;\n"
    cached = f"""{SIZES}
      if (kept.size() == size_t(m * n) && seen == a->left[0]) {{
        for (int64_t i = 0; i < m * n; ++i) a->out[i] = kept[i];
        return cudaSuccess;
      }}
      {PRODUCT}
      kept.assign(a->out, a->out + m * n);
      seen = a->left[0];
    """
    verdict = climbed(product, cached, helpers=memory)
    assert verdict.status in {Status.CHEAT, Status.STATEFUL}, verdict.evidence
    assert verdict.evidence.facts["pattern"] == "state"


def test_state_between_calls_is_no_race(climbed: Climbed, relu: KernelSpec) -> None:
    counting = RELU + "static int calls = 0; if (++calls % 3 == 0) a->out[5] += 1;"
    verdict = climbed(relu, counting)
    assert verdict.status is Status.STATEFUL, verdict.evidence
    assert "fresh process" in verdict.evidence.summary or "calls" in verdict.evidence.summary


def test_what_no_work_would_pass_is_said(climbed: Climbed) -> None:
    spec = KernelSpec.from_callable(lambda x: x.clone(), [torch.randn(48, 501)], name="copy")
    body = "for (int64_t i = 0; i < a->x_shape[0] * a->x_shape[1]; ++i) a->out[i] = a->x[i];"
    verdict = climbed(spec, body)
    assert verdict.passed, verdict.evidence
    assert verdict.evidence.facts["trivial_answers"] == ["copy of x"]
    assert "copy of x" in verdict.evidence.summary
