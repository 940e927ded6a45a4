"""Rung: the shapes at the edges of the candidate's own tiles."""

from cutegen.verification.exactness import keeps_integers
from cutegen.verification.expectation import check_name
from cutegen.verification.inputs import Distribution
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.exact import check_case_exactly


def check_edges(climb: Climb) -> None:
    """Every edge case, unless the candidate refuses the shapes: that it may do, but not err."""
    if not climb.policy.edges:
        return
    exact = climb.policy.exact and keeps_integers(climb.spec)
    for case in climb.plan.edges:
        # What matters here are indices, and integers show every mistake of one.
        if (exact and check_case_exactly(climb, case)) or case.name in climb.refused:
            continue
        name = check_name(case, Distribution.NORMAL)
        inputs = climb.draw(case, Distribution.NORMAL)
        run = climb.run(name, case, inputs, climb.session.schedules[0])
        if run.failure is not None:
            climb.refused.append(case.name)
            continue
        climb.judge(climb.expect(name, case, inputs), run.outputs)
