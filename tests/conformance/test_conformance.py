"""Every case on the emulator, in every order of threads, against the exact answer."""

import pytest

from conformance.case import KernelCase
from conformance.cases import CASES
from conformance.library import number
from conformance.running import run
from conformance.units import Block
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult


@pytest.mark.timeout(900)  # the first one of a unit builds it
@pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(case, case.block, id=f"{case.unit}-{case.name}") for case in CASES],
)
def test_case(case: KernelCase, kernel: Block, library: BuildResult) -> None:
    outcome = run(case, library, number(kernel))
    assert outcome.status is Status.PASSED, outcome.summary


def test_there_are_enough_cases_with_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) >= 40
