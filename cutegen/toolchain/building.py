"""The part of a build that every toolchain shares: from ninja's ending to a BuildResult."""

from collections.abc import Sequence
from pathlib import Path

from cutegen.status import Status
from cutegen.toolchain.diagnostics import parse
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
    status, diagnostics, advice = _judge(built, source, candidate, timeout_s)
    return BuildResult(
        status=status,
        toolchain=toolchain,
        library=directory / LIBRARY if status is Status.PASSED else None,
        diagnostics=diagnostics,
        advice=advice,
        log=built.output,
        seconds=built.seconds,
    )


def _judge(
    built: Built, source: str, candidate: str, timeout_s: float
) -> tuple[Status, tuple[Diagnostic, ...], str]:
    match built.ending:
        case Ending.DONE:
            return Status.PASSED, (), ""
        case Ending.TIMEOUT:
            advice = f"the build took more than {timeout_s:g} s; instantiate or unroll less"
            return Status.TIMEOUT, (), advice
        case Ending.KILLED:
            advice = "the compiler was killed, most likely for memory: run fewer builds at a time"
            return Status.RESOURCE, (), advice
        case Ending.FAILED:
            diagnostics = parse(built.output, source, candidate)
            if not diagnostics and _NO_ENTRY in built.output:
                diagnostics = (_MISSING_ENTRY,)
            elif not diagnostics:
                last = built.output.strip().splitlines()[-20:]
                diagnostics = (Diagnostic(severity="error", message="\n".join(last)),)
            return Status.COMPILE_ERROR, diagnostics, ""
