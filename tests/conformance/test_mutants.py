"""Every planted fault is caught by the emulator, with the right status."""

import pytest

from conformance.library import number
from conformance.mutant import Mutant
from conformance.mutants import MUTANTS
from conformance.running import run
from conformance.units import Block
from cutegen.toolchain.protocol import BuildResult


@pytest.mark.timeout(900)  # the first one of a unit builds it
@pytest.mark.parametrize(
    ("mutant", "kernel"),
    [
        pytest.param(mutant, mutant.block, id=f"{mutant.case.unit}-{mutant.name}")
        for mutant in MUTANTS
    ],
)
def test_mutant(mutant: Mutant, kernel: Block, library: BuildResult) -> None:
    outcome = run(mutant.case, library, number(kernel))
    assert outcome.status is mutant.expected, outcome.summary


def test_there_are_enough_mutants_with_names_of_their_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 30
