"""Every structural move of the playbook shows in the fingerprint; no tuning move does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
from cutegen.agents.models.playbook.library import playbook_for
from cutegen.agents.models.playbook.rows import RowPlan
from cutegen.spec import KernelSpec
from cutegen.structure import fingerprint

SPEC = Path(__file__).parents[1] / "kernelbench/level1/25_Swish.py"


@pytest.fixture(scope="module")
def plan() -> ElementwisePlan:
    return ElementwisePlan(KernelSpec.from_kernelbench(SPEC))


def reachable(start: ElementwiseDesign) -> Iterator[ElementwiseDesign]:
    seen, pending = set(), [start]
    while pending:
        design = pending.pop()
        if design not in seen:
            seen.add(design)
            yield design
            pending += [design.after(move) for move in design.structural_moves()]


def test_the_moves_of_the_elementwise_designs(plan: ElementwisePlan) -> None:
    designs = list(reachable(ElementwiseDesign()))
    prints = {design: fingerprint(plan.render(design)) for design in designs}
    assert len({tuple(found.features.items()) for found in prints.values()}) == len(designs)
    for design in designs:
        for move in design.tuning_moves():
            tuned = fingerprint(plan.render(design.after(move)))
            assert tuned.same_structure(prints[design]), move.intent
            assert tuned.parameters != prints[design].parameters, move.intent


@pytest.mark.parametrize(
    ("extents", "dtype", "mode"),
    [
        ((256, 256, 256), torch.float32, "fp32"),
        ((256, 8192, 256), torch.float32, "fp32"),
        ((256, 256, 256), torch.bfloat16, "bf16"),
    ],
    ids=["fp32", "a long K", "bf16"],
)
def test_the_ladder_of_products(
    extents: tuple[int, int, int], dtype: torch.dtype, mode: str
) -> None:
    m, k, n = extents
    factors = [torch.empty(m, k, dtype=dtype), torch.empty(k, n, dtype=dtype)]
    playbook = playbook_for(
        KernelSpec.from_callable(torch.matmul, factors, name="product", math_mode=mode)
    )
    designs = list(playbook.climb())
    prints = [fingerprint(playbook.render(design)) for design in designs]
    assert len({tuple(found.features.items()) for found in prints}) == len(designs)
    for design, found in zip(designs, prints, strict=True):
        for move in design.tuning_moves():
            tuned = fingerprint(playbook.render(design.after(move)))
            assert tuned.same_structure(found), move.intent
            assert tuned.parameters != found.parameters, move.intent


def test_the_moves_of_the_row_designs() -> None:
    inputs = [torch.rand(64, 4096)]
    spec = KernelSpec.from_callable(lambda x: torch.softmax(x, 1), inputs, name="rows")
    plan = RowPlan(spec)
    prints = {design: fingerprint(plan.render(design)) for design in reachable(plan.first)}
    assert len(prints) >= 8
    for design, found in prints.items():
        for move in design.structural_moves():
            assert not prints[design.after(move)].same_structure(found), move.intent
