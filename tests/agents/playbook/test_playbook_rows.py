"""Functions of rows: every reduction, every design, at edges and in all types, on the emulator."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch's own documentation names it

from cutegen.agents.models.playbook.library import playbook_for
from cutegen.agents.models.playbook.rows import RowDesign, RowPlan
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import KernelSpec
from cutegen.structure import fingerprint
from cutegen.verification.verdict import Verdict

Judge = Callable[[KernelSpec, str], Verdict]

ONLINE = {"vectorized": True, "online": True}
RING = {"vectorized": True, "shared": True, "ring": True, "threads": 64, "depth": 1}
EDGES = ((5, 1), (3, 255), (3, 256), (2, 257), (140, 131), (1, 516))
"""One column, a tile less one, a tile, one more; more rows than there are clusters; the widest."""


def every_reduction(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two operands by element, one by column; values of the row used in what follows."""
    n = (x.shape[-1],)
    scaled = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * w
    return (
        F.layer_norm(x + y, n, w, w),
        F.rms_norm(y, n, w, 1e-3),
        scaled,
        F.normalize(x, dim=-1),
        x / torch.norm(x, p=1, dim=-1, keepdim=True),
        (x - x.amin(-1, keepdim=True)) / (x.amax(-1).unsqueeze(-1) - x.amin(-1, True) + 1),
        (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1),
    )


def softmaxes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The exponentials, and values of the row as results."""
    return (
        torch.softmax(x, -1),
        F.log_softmax(x, dim=-1),
        torch.logsumexp(x, -1),
        x.sum(-1),
        x.mean(-1, keepdim=True),
        x.max(-1).values,
        torch.relu(x.amin(-1)) * 2,
    )


def matrix_vector(x: torch.Tensor, y: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A column multiplies matrices: rows are reduced once, and share the column."""
    return torch.relu(torch.matmul(x, v) + 1), torch.mv(y, v) * 2


def spec_of(function: Callable[..., object], dtype: torch.dtype, inputs: int) -> KernelSpec:
    """Checked at edges: with one column, and rows that are aligned and not."""
    shapes = [(140, 516)] * min(inputs, 2) + [(516,)] * (inputs - 2)
    edges = [[(r, c)] * min(inputs, 2) + [(c,)] * (inputs - 2) for r, c in EDGES]
    return KernelSpec.from_callable(
        function,
        [torch.randn(shape).to(dtype) for shape in shapes],
        name="rows",
        check_shapes=edges,
    )


@pytest.mark.parametrize(
    ("function", "inputs", "dtype", "decisions"),
    [
        (softmaxes, 1, torch.float32, {}),
        (softmaxes, 1, torch.float16, ONLINE | {"batch": 2, "streaming": True}),
        (softmaxes, 1, torch.float32, RING | ONLINE | {"cluster": 2}),
        (every_reduction, 3, torch.float32, {"vectorized": True, "registers": True}),
        (every_reduction, 3, torch.bfloat16, RING | ONLINE),
        (matrix_vector, 3, torch.float32, ONLINE | {"group": 4, "batch": 2}),
    ],
    ids=["plain", "online", "cluster", "registers", "block", "group"],
)
def test_every_design(
    judge: Judge,
    function: Callable[..., object],
    inputs: int,
    dtype: torch.dtype,
    decisions: dict[str, bool | int],
) -> None:
    spec = spec_of(function, dtype, inputs)
    plan = RowPlan(spec)
    verdict = judge(spec, plan.render(plan.first.model_copy(update=decisions)))
    assert verdict.passed, verdict.evidence.summary


def test_the_ladder_ends_with_a_row_that_is_read_once() -> None:
    def intents(columns: int) -> list[str]:
        spec = KernelSpec.from_callable(
            lambda x: torch.softmax(x, 1), [torch.randn(8, columns)], name="softmax"
        )
        tags = [playbook.render(d) for playbook in [playbook_for(spec)] for d in playbook.climb()]
        assert len(set(tags)) == len(tags)
        prints = [fingerprint(tag) for tag in tags]
        assert not any(a.same_structure(b) for a, b in pairwise(prints))
        last = RowDesign.of(tags[-1])
        assert last is not None
        assert last.kept
        return tags

    assert "kItems = 4" in intents(4096)[-1]  # registers
    assert "kCluster" not in intents(40000)[-1]  # one block's shared memory
    assert "kCluster = 8;" in intents(393216)[-1]


def test_a_product_with_one_column_reduces_rows_that_share_it() -> None:
    for function, shapes in (
        (torch.matmul, [(64, 4096), (4096, 1)]),
        (F.linear, [(64, 4096), (1, 4096)]),
    ):
        spec = KernelSpec.from_callable(function, [torch.randn(s) for s in shapes], name="mv")
        *_, last = playbook_for(spec).climb()
        assert isinstance(last, RowDesign)
        assert (last.group, last.batch) == (4, 4)


def test_a_row_that_no_cluster_holds_is_read_twice() -> None:
    spec = KernelSpec.from_callable(
        lambda x: torch.softmax(x, 1), [torch.randn(2, 800_000)], name="softmax"
    )
    *_, last = playbook_for(spec).climb()
    assert isinstance(last, RowDesign)
    assert (last.kept, last.online, last.batch) == (False, True, 4)


def test_there_are_no_clusters_before_hopper() -> None:
    spec = KernelSpec.from_callable(
        lambda x: torch.softmax(x, 1), [torch.randn(2, 40_000)], name="softmax"
    )
    *_, last = playbook_for(spec, "sm_80").climb()
    assert isinstance(last, RowDesign)
    assert not last.shared


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda x: torch.softmax(x, 0), "aten.softmax.int"),
        (lambda x: x.sum(), "aten.sum.default"),
        (lambda x: x.argmax(-1) + x.sum(-1), "aten.argmax.default"),
        (lambda x: x.max(-1).indices, "getitem"),
        (lambda x: x - x.mean(-1), "aten.sub.Tensor"),  # along the columns: rows of means
        (lambda x: x.sum(-1).sum(-1), "aten.sum.dim_IntList"),
        (lambda x: torch.linalg.vector_norm(x, 3, -1), "aten.linalg_vector_norm.default"),
    ],
)
def test_what_no_row_program_computes_is_refused(function: object, named: str) -> None:
    spec = KernelSpec.from_callable(function, [torch.randn(8, 8)], name="refused")  # type: ignore[arg-type]  # lambdas of a parametrization
    with pytest.raises(UnsupportedError) as caught:
        RowPlan(spec)
    assert caught.value.operation == named


def test_a_tag_holds_the_whole_design() -> None:
    spec = spec_of(softmaxes, torch.float32, 1)
    plan = RowPlan(spec)
    design = plan.first.model_copy(update=RING | {"cluster": 4, "online": True})
    assert RowDesign.of(plan.render(design)) == design
