"""Every structural move of the playbook shows in the fingerprint; no tuning move does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
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
