"""What an executor is asked: to judge a candidate, and to time it."""

from typing import Protocol

from cutegen.faults import SurroundingsError
from cutegen.frozen import Frozen
from cutegen.measurement.timing import Measurement, Timing
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildResult
from cutegen.verification.verdict import Verdict


class EvaluationJob(Frozen):
    """Verify one source against its spec. The same seed gives the same inputs.

    ``taken_if_passed`` says that there is nothing to be beaten: what would be asked of such a
    kernel after its measurement is then asked beside the ladder, and known when it is measured.
    """

    spec: KernelSpec
    source: str
    seed: int = 0
    timeout_s: float = 60.0  # per launch, not per job
    taken_if_passed: bool = False


class MeasurementJob(Frozen):
    """Time one verified source, interleaved with the incumbent and with PyTorch eager.

    ``samples`` are taken at most: a series of long calls ends when it shows enough.
    ``compiled`` adds a baseline by ``torch.compile``, which takes a while to start.
    """

    spec: KernelSpec
    source: str
    incumbent: str | None = None
    seed: int = 0
    samples: int = 50
    compiled: bool = False
    timeout_s: float = 300.0


class RaceJob(Frozen):
    """Time verified variants of one kernel by turns, at most ``samples``, to find the fastest."""

    spec: KernelSpec
    sources: tuple[str, ...]
    seed: int = 0
    samples: int = 50
    timeout_s: float = 300.0


class Race(Frozen):
    """One timing per source, in order, taken in one session; none where there is a reason."""

    timings: tuple[Timing, ...] = ()
    reason: str = ""


class Executor(Protocol):
    """A place where candidates are built, judged and timed."""

    @property
    def name(self) -> str:
        """``cuda`` or ``emulated``."""

    def build(self, spec: KernelSpec, source: str) -> BuildResult:
        """Build for this executor; cached, so evaluate and measure build nothing twice."""

    def evaluate(self, job: EvaluationJob) -> Verdict:
        """Climb the ladder of checks; the first failure is the verdict."""

    def measure(self, job: MeasurementJob) -> Measurement:
        """Take interleaved timings; UNMEASURED with the reason where there is no GPU."""

    def race(self, job: RaceJob) -> Race:
        """Time variants by turns in one session; never raises for what a kernel did."""


class EnvironmentUnfitError(SurroundingsError):
    """This machine cannot do what was asked; the message says what to do about it."""
