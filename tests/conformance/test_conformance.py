"""Every case on the emulator, in every order of threads, against the exact answer."""

from collections.abc import Callable

import pytest

from conformance.case import KernelCase
from conformance.cases import CASES
from conformance.running import build, run
from conformance.units import Block
from cutegen.status import Status
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.protocol import BuildResult

AWAITING_ATOMS = {"mma", "cp_async", "warp_specialized"}


def kernels(unit: str) -> list[Block]:
    """The kernels of a unit's cases, each once."""
    return list(dict.fromkeys(case.block for case in CASES if case.unit == unit))


@pytest.fixture(scope="session")
def built() -> Callable[[str], BuildResult]:
    """Builds a unit, once in all processes: the cache sees to that."""
    toolchain = EmulatorToolchain()

    def builder(unit: str) -> BuildResult:
        result = build(toolchain, kernels(unit))
        assert result.status is Status.PASSED, f"{result.advice}\n{result.log}"
        return result

    return builder


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=pytest.mark.xdist_group(case.unit))
        for case in CASES
        if case.unit not in AWAITING_ATOMS
    ],
)
def test_case(case: KernelCase, built: Callable[[str], BuildResult]) -> None:
    outcome = run(case, built(case.unit), kernels(case.unit).index(case.block))
    assert outcome.status is Status.PASSED, outcome.summary


def test_there_are_enough_cases_with_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) >= 40
