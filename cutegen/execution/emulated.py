"""The emulated executor: the same .cu on the CPU. It judges correctness, never speed."""

from cutegen.execution.evaluation import judge
from cutegen.execution.memory import HostArena
from cutegen.execution.protocol import EvaluationJob, MeasurementJob, Race, RaceJob
from cutegen.execution.session import WorkerSession, arena_bytes, small_enough_to_emulate
from cutegen.kernel import args_header
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.spec import KernelSpec
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain
from cutegen.verification.plan import plan_checks
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.verdict import Verdict

UNMEASURED = (
    "the emulator has no clock worth reading: measure on a GPU with "
    "`cutegen resume RUN --executor cuda`"
)


class EmulatedExecutor:
    """Builds with g++ against the emulator and runs each candidate in a worker process."""

    name = "emulated"

    def __init__(
        self, toolchain: Toolchain | None = None, policy: VerificationPolicy | None = None
    ) -> None:
        """Use ``toolchain``, or a new ``EmulatorToolchain``."""
        self._toolchain = toolchain or EmulatorToolchain()
        self._policy = policy or VerificationPolicy()

    def build(self, spec: KernelSpec, source: str) -> BuildResult:
        """Build for the CPU; cached."""
        return self._toolchain.build(BuildRequest(source=source, header=args_header(spec)))

    def evaluate(self, job: EvaluationJob) -> Verdict:
        """Climb the ladder of checks; the first failure is the verdict."""
        build = self.build(job.spec, job.source)
        plan = plan_checks(job.spec, job.source)

        def open_session() -> WorkerSession:
            assert build.library is not None
            timed = (job.spec.timed,) if small_enough_to_emulate(job.spec.timed) else ()
            arena = HostArena(arena_bytes((*job.spec.checks, *plan.edges, *timed)))
            return WorkerSession(job.spec, build.library, arena, timeout_s=job.timeout_s)

        return judge(self.name, job, build, open_session, policy=self._policy, plan=plan)

    def measure(self, job: MeasurementJob) -> Measurement:  # noqa: ARG002 - the protocol's signature
        """Nothing is measured here, and the answer says so."""
        return Measurement(state=MeasurementState.UNMEASURED, reason=UNMEASURED)

    def race(self, job: RaceJob) -> Race:  # noqa: ARG002 - the protocol's signature
        """Nothing is raced here, and the answer says so."""
        return Race(reason=UNMEASURED)
