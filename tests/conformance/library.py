"""The emulator's libraries: one per unit, with all its kernels, right ones and mutants alike."""

from functools import cache

from conformance.cases import CASES
from conformance.mutants import MUTANTS
from conformance.running import build
from conformance.units import Block
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.protocol import BuildResult

UNITS = tuple(dict.fromkeys(case.unit for case in CASES))


@cache
def kernels(unit: str) -> tuple[Block, ...]:
    """What is in a unit's library, in order."""
    everything = (*(case.block for case in CASES), *(mutant.block for mutant in MUTANTS))
    return tuple(dict.fromkeys(block for block in everything if block.unit == unit))


def emulated(unit: str) -> BuildResult:
    """Build it once: threads and processes that want the same one wait for each other."""
    return build(EmulatorToolchain(timeout_s=900.0), kernels(unit))


def number(kernel: Block) -> int:
    """A kernel's place in its library."""
    return kernels(kernel.unit).index(kernel)
