"""From a build to a verdict: the same for every executor."""

import time
from collections.abc import Callable

from cutegen.execution.protocol import EvaluationJob
from cutegen.execution.session import WorkerSession
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult
from cutegen.verification.ladder import verify
from cutegen.verification.plan import CheckPlan
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.verdict import Evidence, Verdict


def judge(
    executor: str,
    job: EvaluationJob,
    build: BuildResult,
    open_session: Callable[[], WorkerSession],
    *,
    policy: VerificationPolicy,
    plan: CheckPlan,
) -> Verdict:
    """Turn a failed build into a verdict, or climb the ladder with the built candidate."""
    began = time.monotonic()
    if build.status is not Status.PASSED:
        return failed_build(executor, build)
    with open_session() as session:
        started = time.monotonic()
        verdict = verify(job.spec, session, policy, job.seed, plan)
    breakdown = {"worker": round(started - began, 4), **verdict.breakdown}
    return verdict.model_copy(update={"seconds": time.monotonic() - began, "breakdown": breakdown})


def failed_build(executor: str, build: BuildResult) -> Verdict:
    """The verdict on a candidate that was not built."""
    first = next((d for d in build.diagnostics if "error" in d.severity), None)
    if first is not None:
        where = f"line {first.line}: " if first.line else ""
        summary = f"{where}{first.message}"
    else:
        summary = build.advice or f"{build.toolchain} built nothing; see the log"
    return Verdict(
        status=build.status,
        executor=executor,
        evidence=Evidence(
            summary=summary,
            check="build",
            diagnostics=build.diagnostics,
            hints=(build.advice,) if build.advice else (),
            log=build.log,
        ),
        seconds=build.seconds,
    )


def unavailable(executor: str, status: Status, summary: str, *hints: str) -> Verdict:
    """The verdict when the surroundings, not the candidate, are at fault."""
    return Verdict(
        status=status,
        executor=executor,
        evidence=Evidence(summary=summary, check="environment", hints=hints),
    )
