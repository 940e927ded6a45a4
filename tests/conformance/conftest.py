"""Libraries of the emulator, built when they are first asked for."""

from functools import cache

import pytest

from conformance.library import emulated
from conformance.units import Block
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult


@cache
def _library(unit: str) -> BuildResult:
    result = emulated(unit)
    assert result.status is Status.PASSED, f"{result.advice}\n{result.log}"
    return result


@pytest.fixture
def library(kernel: Block) -> BuildResult:
    """The library that holds ``kernel``."""
    return _library(kernel.unit)
