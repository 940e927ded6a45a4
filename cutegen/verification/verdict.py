"""The verdict on a candidate: a status, and evidence that a diagnostician can use."""

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.shown import Shown
from cutegen.status import Status
from cutegen.toolchain.protocol import Diagnostic


class ErrorMeasure(Frozen):
    """How far one output lies from the float64 reference, in one check.

    ``error`` and ``torch_error`` are relative errors in the 2-norm, the candidate's and
    PyTorch's at the spec's math mode; ``bound`` is what ``error`` may not exceed.
    """

    check: str
    output: str
    error: float
    torch_error: float
    bound: float
    max_abs_error: float
    bad_count: int = 0
    total: int = 0
    first_bad_index: tuple[int, ...] = ()


class Evidence(Frozen):
    """What was seen. ``summary`` is one sentence; the rest backs it up."""

    summary: str
    check: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[ErrorMeasure, ...] = ()
    hints: tuple[str, ...] = ()
    facts: dict[str, JsonValue] = {}
    log: str = ""


class Verdict(Shown):
    """PASSED, or the first failure and its evidence.

    ``breakdown`` says where the ``seconds`` went; unlike the evidence, they differ from run to run.
    """

    status: Status
    executor: str
    evidence: Evidence
    seconds: float = 0.0
    breakdown: dict[str, float] = {}

    @property
    def passed(self) -> bool:
        """Whether every check was passed."""
        return self.status is Status.PASSED
