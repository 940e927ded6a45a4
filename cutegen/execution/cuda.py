"""The CUDA executor: a worker process per candidate, judged and timed on a GPU."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from cutegen.execution.cudart import CudaError, CudaRuntime
from cutegen.execution.evaluation import failed_build, judge, unavailable
from cutegen.execution.failures import allocation_failed
from cutegen.execution.memory import CudaArena, find_cudart
from cutegen.execution.protocol import (
    EnvironmentUnfitError,
    EvaluationJob,
    MeasurementJob,
    Race,
    RaceJob,
)
from cutegen.execution.sanitized import tools_for, with_report, would_be_taken
from cutegen.execution.sanitizers import TOOLS, SanitizerReport, sanitize
from cutegen.execution.session import arena_bytes
from cutegen.execution.timed_session import TimedSession
from cutegen.kernel import args_header
from cutegen.measurement.baselines import Baseline, BaselineError
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.launches import unaccounted
from cutegen.measurement.measure import exclusive, measure_candidate
from cutegen.measurement.sampling import SampleFailedError, interleave
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.spec import Case, KernelSpec
from cutegen.status import Status
from cutegen.toolchain.discovery import ToolNotFoundError, find_sanitizer
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution
from cutegen.verification.plan import plan_checks
from cutegen.verification.poison import same_bits
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.verdict import Verdict

_ARCHITECTURE_SPECIFIC = 9  # from sm_90 on, wgmma and TMA need the target's "a" variant


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
        if not torch.cuda.is_available() or device >= torch.cuda.device_count():
            raise EnvironmentUnfitError(
                f"PyTorch sees no CUDA device {device}: check nvidia-smi and that torch is a CUDA "
                "build, or use --executor emulated"
            )
        self.device = device
        try:
            self._cudart = find_cudart()
            self._runtime = CudaRuntime(self._cudart, device)
        except (OSError, CudaError, RuntimeError) as error:
            raise EnvironmentUnfitError(f"the CUDA runtime cannot be used: {error}") from error
        self._toolchain = toolchain or NvccToolchain(arch=architecture(device), police=police)
        self._policy = policy or VerificationPolicy()
        self._standby: Baseline | None = None
        self._starting = threading.Lock()  # variants are built side by side

    def build(self, spec: KernelSpec, source: str) -> BuildResult:
        """Build for the device; cached. PyTorch's baseline process comes up meanwhile."""
        self._stand_by()
        return self._built(spec, source)

    def _built(self, spec: KernelSpec, source: str) -> BuildResult:
        return self._toolchain.build(BuildRequest(source=source, header=args_header(spec)))

    def evaluate(self, job: EvaluationJob) -> Verdict:
        """Climb the ladder of checks; the first failure is the verdict."""
        build = self.build(job.spec, job.source)
        if build.status is not Status.PASSED:
            return failed_build(self.name, build)
        plan = plan_checks(job.spec, job.source)

        def open_session() -> TimedSession:
            return self._open(job.spec, build, plan.cases(job.spec), job.timeout_s)

        try:
            with exclusive(self.device):  # nobody's times are disturbed by these launches
                return judge(self.name, job, build, open_session, policy=self._policy, plan=plan)
        except CudaError as error:
            return unavailable(self.name, *_blame(error))
        finally:
            torch.cuda.empty_cache()  # what we keep, the worker and the next arena cannot have

    def measure(self, job: MeasurementJob) -> Measurement:
        """Time candidate, incumbent and PyTorch by turns, at the timed shapes."""
        try:
            return self._measure(job)
        except (BaselineError, CudaError, torch.cuda.OutOfMemoryError) as error:
            return Measurement(state=MeasurementState.UNMEASURED, reason=str(error))
        except SampleFailedError as error:
            return _refused(error.reason)
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
                    timings = interleave(sessions, job.samples)
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
            with Baseline(self.device) as baseline:
                return baseline.ceilings()
        except BaselineError as error:
            raise SampleFailedError(str(error)) from error

    @contextmanager
    def timed(
        self, spec: KernelSpec, source: str, *, seed: int = 0, timeout_s: float = 60.0
    ) -> Iterator[TimedSession]:
        """A fresh worker that holds one kernel and the timed case, launched once.

        Args:
            spec: What the kernel implements.
            source: The kernel.
            seed: Seed of the inputs.
            timeout_s: Limit of one launch.

        Raises:
            SampleFailedError: It could not be built, loaded or launched.
        """
        build = self._built(spec, source)
        if build.status is not Status.PASSED:
            raise SampleFailedError(failed_build(self.name, build).evidence.summary)
        device = torch.device("cuda", self.device)
        with self._open(spec, build, (spec.timed,), timeout_s) as session:
            inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, seed, device)
            run = session.run(spec.timed, inputs, session.schedules[0])
            del inputs
            if run.failure is not None:
                raise SampleFailedError(run.failure.summary)
            yield session

    def _stand_by(self) -> None:
        """Start PyTorch's process: what passes is measured next, and importing takes seconds."""
        with self._starting:
            if self._standby is None:
                self._standby = Baseline(self.device)
                weakref.finalize(self, self._standby.close)

    def _baseline(self, timeout_s: float) -> Baseline:
        """The process that stands by, or a new one; its user closes it."""
        standby, self._standby = self._standby, None
        if standby is None or not standby.alive:
            return Baseline(self.device, timeout_s)
        standby.timeout_s = timeout_s
        return standby

    def _measure(self, job: MeasurementJob) -> Measurement:
        """Time by turns; then a fresh process must agree with what the timed calls left."""
        device = torch.device("cuda", self.device)
        with ExitStack() as stack:
            measurement, candidate = self._interleaved(job, stack)
            if measurement.state is not MeasurementState.MEASURED:
                return measurement
            left = {n: t.clone() for n, t in candidate.read_outputs(job.spec.timed).items()}
            torch.cuda.synchronize(device)
            launches = candidate.trace()  # after the outputs were read: it makes the call again
        environment = {**measurement.environment, "launches": launches.model_dump(mode="json")}
        measurement = measurement.model_copy(update={"environment": environment})
        assert measurement.candidate is not None
        if missing := unaccounted(launches, measurement.candidate):
            return measurement.model_copy(
                update={"state": MeasurementState.REFUSED, "reason": missing}
            )
        build = self._built(job.spec, job.source)
        inputs = draw_inputs(job.spec, job.spec.timed, Distribution.NORMAL, job.seed, device)
        candidate.replay_changes(inputs)
        session = self._open(job.spec, build, (job.spec.timed,), job.timeout_s)
        with exclusive(self.device), session as afresh:
            run = afresh.run(job.spec.timed, inputs, afresh.schedules[0])
            if run.failure is not None:
                return _refused(run.failure.summary)
            wrong = [
                name for name, output in run.outputs.items() if not same_bits(output, left[name])
            ]
        if not wrong:
            return self._sanitized(job, measurement, build)
        return measurement.model_copy(
            update={
                "state": MeasurementState.REFUSED,
                "reason": f"the timed calls left other values in {', '.join(wrong)} than a fresh "
                "process computes from the same inputs: they answer from memory, or not at all",
            }
        )

    def _sanitized(
        self, job: MeasurementJob, measurement: Measurement, build: BuildResult
    ) -> Measurement:
        """What would be taken passes compute-sanitizer first, on the smallest case."""
        if not would_be_taken(measurement) or build.library is None:
            return measurement
        try:
            sanitizer = find_sanitizer().path
        except ToolNotFoundError as error:
            return with_report(
                measurement, SanitizerReport(skipped=dict.fromkeys(TOOLS, str(error))), job.source
            )
        case = min((*job.spec.checks, job.spec.timed), key=lambda case: case.nbytes)
        inputs = draw_inputs(job.spec, case, Distribution.NORMAL, job.seed, torch.device("cpu"))
        with exclusive(self.device):
            report = sanitize(
                sanitizer,
                job.spec,
                case,
                inputs,
                build.library,
                cudart=self._cudart,
                device=self.device,
                tools=tools_for(job.source),
            )
        return with_report(measurement, report, job.source)

    def _interleaved(
        self, job: MeasurementJob, stack: ExitStack
    ) -> tuple[Measurement, TimedSession]:
        eager = stack.enter_context(self._baseline(job.timeout_s))
        ceilings = eager.ceilings()
        eager.load(job.spec, seed=job.seed)
        sessions = [
            stack.enter_context(
                self.timed(job.spec, source, seed=job.seed, timeout_s=job.timeout_s)
            )
            for source in filter(None, (job.source, job.incumbent))
        ]
        more: dict[str, Baseline] = {}
        if job.compiled:
            more["compile"] = stack.enter_context(Baseline(self.device, job.timeout_s))
            more["compile"].load(job.spec, "compile", job.seed)
        candidate = sessions[0]
        candidate.clear_outputs(job.spec.timed)
        measurement = measure_candidate(
            job.spec,
            candidate=candidate,
            eager=eager,
            ceilings=ceilings,
            incumbent=sessions[1] if job.incumbent is not None else None,
            more_baselines=more,
            samples=job.samples,
            device=self.device,
        )
        return measurement, candidate

    def _open(
        self, spec: KernelSpec, build: BuildResult, cases: tuple[Case, ...], timeout_s: float
    ) -> TimedSession:
        assert build.library is not None
        torch.cuda.empty_cache()  # PyTorch's reserve is of no use to cudaMalloc
        return TimedSession(
            spec,
            build.library,
            CudaArena(self._runtime, arena_bytes(cases)),
            timeout_s=timeout_s,
            cudart=self._cudart,
            device=self.device,
        )


def architecture(device: int) -> str:
    """The nvcc target of a device, such as ``sm_90a``."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if major >= _ARCHITECTURE_SPECIFIC else "")


def _refused(reason: str) -> Measurement:
    return Measurement(state=MeasurementState.REFUSED, reason=reason)


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
