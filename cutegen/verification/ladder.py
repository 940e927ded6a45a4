"""The ladder of checks: the first rung that breaks is the verdict."""

import time

import torch

from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.findings import BrokenRungError
from cutegen.verification.plan import CheckPlan, plan_checks
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.rungs.accuracy import check_accuracy
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.edges import check_edges
from cutegen.verification.rungs.exact import check_exactly
from cutegen.verification.rungs.timed import check_timed
from cutegen.verification.session import Session
from cutegen.verification.verdict import Evidence, Verdict


def verify(
    spec: KernelSpec,
    session: Session,
    policy: VerificationPolicy | None = None,
    seed: int = 0,
    plan: CheckPlan | None = None,
) -> Verdict:
    """Climb the ladder with one loaded candidate.

    In every check it runs, stays within its memory, leaves its inputs alone and writes every
    output element. Rung by rung: integers come out to the bit, where the reference keeps
    them; values are as exact as PyTorch's on every distribution, the same again under other
    schedules and after other calls, and follow a change of few elements; the edges of the
    candidate's own tiles; at last the timed case, where the executor can run it.

    Args:
        spec: The function to be replaced.
        session: The loaded candidate, with memory for every case of the plan.
        policy: How much is checked.
        seed: Seed of all inputs.
        plan: Edge cases and tiles; without the candidate's source, usual ones.
    """
    climb = Climb(
        spec, session, plan or plan_checks(spec, ""), policy or VerificationPolicy(), seed
    )
    began = time.monotonic()
    try:
        status, evidence = Status.PASSED, _to_the_top(climb)
    except BrokenRungError as broken:
        status, evidence = broken.status, broken.evidence
    except torch.cuda.OutOfMemoryError as error:
        status = Status.RESOURCE
        evidence = Evidence(
            summary=f"the GPU has no memory for the float64 reference: {error}",
            hints=("free the GPU's memory, or give the spec smaller timed shapes",),
        )
    facts = {**session.facts, "math_mode": spec.math_mode.value}
    return Verdict(
        status=status,
        executor=session.name,
        evidence=evidence.model_copy(update={"facts": {**facts, **evidence.facts}}),
        seconds=time.monotonic() - began,
        breakdown={name: round(spent, 4) for name, spent in climb.stages.seconds.items()},
    )


def _to_the_top(climb: Climb) -> Evidence:
    """All rungs; returns the evidence of success."""
    check_exactly(climb)
    check_accuracy(climb)
    check_edges(climb)
    sensitivity = check_timed(climb)
    timed = sensitivity != "not run"
    edges = len(climb.plan.edges) - len(climb.refused) if climb.policy.edges else 0
    cases = len(climb.spec.checks) + edges + timed
    shapes = "the timed shapes included" if timed else "the timed shapes not run here"
    trivial = sorted(climb.trivial or ())
    warning = f"; but so would be: {', '.join(trivial)}" if trivial else ""
    return Evidence(
        summary=f"as exact as PyTorch at {climb.spec.math_mode.value} on {cases} cases "
        f"({shapes}), in {len(climb.errors)} comparisons{warning}",
        errors=tuple(climb.errors),
        facts={
            "timed_case_run": timed,
            "timed_sensitivity": sensitivity,
            "checks_without_finite_values": [*climb.silent],
            "exact_checks": [*climb.exact],
            "edge_cases": [case.name for case in climb.plan.edges],
            "edge_cases_refused": [*climb.refused],
            "trivial_answers": [*trivial],
        },
    )
