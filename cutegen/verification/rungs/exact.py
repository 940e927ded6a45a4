"""Rung: small integers must come out to the bit, where the reference keeps integers."""

from cutegen.spec import Case
from cutegen.verification.exactness import exact_check, keeps_integers
from cutegen.verification.expectation import Expectation, draw_inputs
from cutegen.verification.inputs import Distribution
from cutegen.verification.rungs.climb import Climb

_CASES = 2  # beside the edges: the awkward one, and the one that tiles divide


def check_exactly(climb: Climb) -> None:
    """The first checks, with integers; nothing where the reference does not keep them."""
    if not climb.policy.exact or not keeps_integers(climb.spec):
        return
    for case in climb.spec.checks[:_CASES]:
        check_case_exactly(climb, case)


def check_case_exactly(climb: Climb, case: Case) -> bool:
    """One case; False if sums get too large for the narrowest type, or it is refused."""
    name = f"{case.name}/exact"
    drawn = draw_inputs(climb.spec, case, Distribution.NORMAL, climb.seed, climb.session.device)
    with climb.stages.spent_on("reference"):
        check = exact_check(climb.spec, case, drawn, climb.seed)
    if check is None:
        return False
    run = climb.run(name, case, check.inputs, climb.session.schedules[0])
    if run.failure is not None:
        climb.refused.append(case.name)
        return False
    expectation = Expectation(name, case, check.inputs, check.targets, telling=1.0)
    climb.judge(expectation, run.outputs)
    climb.exact.append(name)
    return True
