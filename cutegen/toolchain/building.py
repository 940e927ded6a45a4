"""The part of a build that every toolchain shares: from ninja's ending to a BuildResult."""

from collections.abc import Sequence
from pathlib import Path

from cutegen.status import Status
from cutegen.toolchain.diagnostics import parse
from cutegen.toolchain.faults import fault_of_surroundings
from cutegen.toolchain.ninja import BuildStep, Built, Ending, run_ninja
from cutegen.toolchain.protocol import BuildResult, Diagnostic

HEADER = "cutegen_args.h"
LIBRARY = "candidate.so"
ENTRY_POINT = "cutegen_launch"

LINKER_FLAGS = (f"--require-defined={ENTRY_POINT}", "-zdefs", "--as-needed")
"""A library without the entry point, or with a hole in it, must not come into being."""

_NO_ENTRY = f"required symbol `{ENTRY_POINT}' not defined"
_MISSING_ENTRY = Diagnostic(
    severity="error",
    message=f"the source defines no {ENTRY_POINT}",
    detail=f'define `extern "C" cudaError_t {ENTRY_POINT}(CutegenArgs const* a)` '
    f'and include "{HEADER}"',
)


def build_library(
    directory: Path,
    steps: Sequence[BuildStep],
    *,
    toolchain: str,
    source: str,
    candidate: str,
    timeout_s: float,
) -> BuildResult:
    """Run the steps in a prepared directory and say what became of it.

    Args:
        directory: Holds the candidate and its header; ``candidate.so`` is made in it.
        steps: Commands for ninja.
        toolchain: Name for the result.
        source: The candidate's own text, to quote lines of.
        candidate: Its file name, as compilers print it.
        timeout_s: Wall-clock limit in seconds.
    """
    built = run_ninja(directory, steps, timeout_s)
    if built.ending is Ending.DONE:
        status, advice = Status.PASSED, ""
    else:
        status, advice = explain_failure(built, timeout_s)
    return BuildResult(
        status=status,
        toolchain=toolchain,
        library=directory / LIBRARY if status is Status.PASSED else None,
        diagnostics=_digest(built.output, source, candidate)
        if status is Status.COMPILE_ERROR
        else (),
        advice=advice,
        log=built.output,
        seconds=built.seconds,
    )


def explain_failure(built: Built, timeout_s: float) -> tuple[Status, str]:
    """Whose fault it is that a build was not done, and what to do when it is not the source's."""
    if built.ending is Ending.TIMEOUT:
        return (
            Status.TIMEOUT,
            f"the build took more than {timeout_s:g} s; instantiate or unroll less",
        )
    if built.ending is Ending.KILLED:
        return Status.RESOURCE, "somebody killed the build: look for a lack of memory"
    if fault := fault_of_surroundings(built.output):
        return fault.status, fault.advice
    return Status.COMPILE_ERROR, ""


def _digest(output: str, source: str, candidate: str) -> tuple[Diagnostic, ...]:
    if diagnostics := parse(output, source, candidate):
        return diagnostics
    if _NO_ENTRY in output:
        return (_MISSING_ENTRY,)
    last = output.strip().split("\n")[-20:]
    return (Diagnostic(severity="error", message="\n".join(last)),)
