"""What a toolchain is asked, and what it answers."""

from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.status import Status


class Diagnostic(Frozen):
    """One compiler message, digested: where in the candidate, and what was said.

    ``line`` is a line of the candidate (0 when the compiler named none); ``source_line``
    is its text; ``detail`` holds a static-assert text or the note that explains the error.
    """

    severity: str
    message: str
    line: int = 0
    column: int = 0
    source_line: str = ""
    detail: str = ""


class KernelResources(Frozen):
    """What ``ptxas -v`` reports of one kernel (bytes, registers per thread)."""

    kernel: str
    registers: int
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    static_smem_bytes: int = 0


class BuildRequest(Frozen):
    """A candidate to be built: its source and the generated ``cutegen_args.h``."""

    source: str
    header: str


class BuildResult(Frozen):
    """PASSED with a shared object, or why there is none.

    Failures are cached like successes, except RESOURCE, ENVIRONMENT and TIMEOUT ones.
    ``log`` is the bounded raw output; ``diagnostics`` is its digest, first error first.
    """

    status: Status
    toolchain: str
    library: Path | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    resources: tuple[KernelResources, ...] = ()
    advice: str = ""
    log: str = ""
    seconds: float = 0.0
    cached: bool = False
    versions: dict[str, JsonValue] = {}


class Toolchain(Protocol):
    """Turns one ``.cu`` source into a shared object that exports ``cutegen_launch``."""

    @property
    def name(self) -> str:
        """``nvcc`` or ``emulator``."""

    def build(self, request: BuildRequest) -> BuildResult:
        """Build, or return the cached result. Never raises for what the source did."""
