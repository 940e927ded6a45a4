"""Every planted fault is caught by the emulator, with the right status."""

from collections.abc import Callable

import pytest

from conformance.mutant import Mutant
from conformance.mutants import MUTANTS
from conformance.running import build, run
from cutegen.status import Status
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.protocol import BuildResult

AWAITING_THE_CHECKED_BUILD = {
    "sum_divergent_shuffle",
    "block_sum_uninitialized",
    "histogram_without_atomic",
    "histogram_uninitialized",
    "compaction_divergent_vote",
    "stencil_short_halo",
    "dot_divergent_barrier",
    "matmul_without_column_guard",
    "matmul_leading_dimension",
}


@pytest.fixture(scope="session")
def built() -> Callable[[str], BuildResult]:
    """All mutants of a unit in one library, once in all processes: the cache sees to that."""
    toolchain = EmulatorToolchain()

    def builder(unit: str) -> BuildResult:
        result = build(toolchain, [m.block for m in MUTANTS if m.case.unit == unit])
        assert result.status is Status.PASSED, f"{result.advice}\n{result.log}"
        return result

    return builder


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, id=mutant.name, marks=pytest.mark.xdist_group(mutant.case.unit))
        for mutant in MUTANTS
        if mutant.name not in AWAITING_THE_CHECKED_BUILD
    ],
)
def test_mutant(mutant: Mutant, built: Callable[[str], BuildResult]) -> None:
    unit = [m.name for m in MUTANTS if m.case.unit == mutant.case.unit]
    outcome = run(mutant.case, built(mutant.case.unit), unit.index(mutant.name))
    assert outcome.status is mutant.expected, outcome.summary


def test_there_are_enough_mutants_with_names_of_their_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 30
