"""The CUDA executor: a worker process per candidate, judged and timed on a GPU."""

import weakref
from contextlib import AbstractContextManager, ExitStack

import torch

from cutegen.execution.bench import CudaBench
from cutegen.execution.cudart import CudaError
from cutegen.execution.evaluation import failed_build, judge, unavailable
from cutegen.execution.examination import Examiner
from cutegen.execution.failures import allocation_failed
from cutegen.execution.measuring import Measuring, refused
from cutegen.execution.protocol import EvaluationJob, MeasurementJob, Race, RaceJob
from cutegen.execution.standby import Standby
from cutegen.execution.timed_session import TimedSession
from cutegen.measurement.baselines import BaselineError
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.measure import exclusive
from cutegen.measurement.sampling import SampleFailedError, interleave
from cutegen.measurement.stopping import fastest_found
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult, Toolchain
from cutegen.verification.plan import plan_checks
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.verdict import Verdict


class CudaExecutor:
    """Builds with nvcc, verifies and measures on one GPU."""

    name = "cuda"

    def __init__(
        self,
        toolchain: Toolchain | None = None,
        device: int = 0,
        policy: VerificationPolicy | None = None,
        *,
        police: bool = True,
    ) -> None:
        """Take the device in use.

        Args:
            toolchain: Builds candidates; an ``NvccToolchain`` for the device by default.
            device: CUDA device index.
            policy: How much is checked.
            police: For the default toolchain: refuse what ``cutegen.source_policy`` names.

        Raises:
            EnvironmentUnfitError: There is no such device, or PyTorch cannot use it.
        """
        self.device = device
        self._bench = CudaBench(toolchain, device, police=police)
        self._policy = policy or VerificationPolicy()
        self._standby = Standby(device)
        weakref.finalize(self, self._standby.close)
        self._examiner = Examiner(self._bench.cudart, device)
        self._measuring = Measuring(self._bench, self._standby, self._examiner)

    def build(self, spec: KernelSpec, source: str) -> BuildResult:
        """Build for the device; cached. PyTorch's baseline process comes up meanwhile."""
        self._standby.prepare()
        return self._bench.built(spec, source)

    def evaluate(self, job: EvaluationJob) -> Verdict:
        """Climb the ladder of checks; the first failure is the verdict."""
        build = self.build(job.spec, job.source)
        if build.status is not Status.PASSED:
            return failed_build(self.name, build)
        plan = plan_checks(job.spec, job.source)

        def open_session() -> TimedSession:
            return self._bench.opened(job.spec, build, plan.cases(job.spec), job.timeout_s)

        try:
            with ExitStack() as stack:
                # nobody's times are disturbed by these launches
                stack.enter_context(exclusive(self.device))
                if job.taken_if_passed:
                    examination = stack.enter_context(
                        self._examiner.examining(job.spec, job.source, build, job.seed)
                    )
                verdict = judge(self.name, job, build, open_session, policy=self._policy, plan=plan)
                if job.taken_if_passed and verdict.passed:
                    examination.report()  # kept for the measurement
                return verdict
        except CudaError as error:
            return unavailable(self.name, *_blame(error))
        finally:
            torch.cuda.empty_cache()  # what we keep, the worker and the next arena cannot have

    def measure(self, job: MeasurementJob) -> Measurement:
        """Time candidate, incumbent and PyTorch by turns, at the timed shapes."""
        try:
            return self._measuring.measure(job)
        except (BaselineError, CudaError, torch.cuda.OutOfMemoryError) as error:
            return Measurement(state=MeasurementState.UNMEASURED, reason=str(error))
        except SampleFailedError as error:
            return refused(error.reason)
        finally:
            torch.cuda.empty_cache()

    def race(self, job: RaceJob) -> Race:
        """Time variants by turns in one session, each in a worker of its own."""
        try:
            with ExitStack() as stack:
                sessions = {
                    str(lane): stack.enter_context(
                        self.timed(job.spec, source, seed=job.seed, timeout_s=job.timeout_s)
                    )
                    for lane, source in enumerate(job.sources)
                }
                with exclusive(self.device):
                    timings = interleave(sessions, job.samples, enough=fastest_found)
            return Race(timings=tuple(timings.values()))
        except (CudaError, SampleFailedError, torch.cuda.OutOfMemoryError) as error:
            return Race(reason=str(error))
        finally:
            torch.cuda.empty_cache()

    def ceilings(self) -> Ceilings:
        """What the device can do at best; measured once and kept.

        Raises:
            SampleFailedError: PyTorch could not measure it.
        """
        try:
            with self._standby.up() as baseline:
                return baseline.ceilings()
        except BaselineError as error:
            raise SampleFailedError(str(error)) from error

    def timed(
        self, spec: KernelSpec, source: str, *, seed: int = 0, timeout_s: float = 60.0
    ) -> AbstractContextManager[TimedSession]:
        """A fresh worker that holds one kernel and the timed case, launched once.

        Arguments are those of ``CudaBench.timed``.

        Raises:
            SampleFailedError: On entering: it could not be built, loaded or launched.
        """
        return self._bench.timed(spec, source, seed=seed, timeout_s=timeout_s)


def _blame(error: CudaError) -> tuple[Status, str, str]:
    """Status, summary and advice for a CUDA error of the parent's own."""
    if allocation_failed(error.code):
        return (
            Status.RESOURCE,
            f"the GPU has no memory for the case: {error}",
            "free the GPU's memory, or give the spec smaller timed shapes",
        )
    return (
        Status.ENVIRONMENT,
        f"the CUDA device failed: {error}",
        "run `cutegen doctor`; if the device is lost, reset it or restart the machine",
    )
