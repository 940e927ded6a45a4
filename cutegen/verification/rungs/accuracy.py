"""Rung: as exact as PyTorch, measured against float64, on several distributions."""

from cutegen.spec import Case
from cutegen.verification.expectation import Expectation, check_name
from cutegen.verification.inputs import Distribution
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.determinism import require_repeatable
from cutegen.verification.rungs.freshness import require_fresh
from cutegen.verification.rungs.telling_apart import Outputs, kept
from cutegen.verification.trivial import trivial_answers


def check_case(
    climb: Climb, case: Case, distribution: Distribution, known_sensitivity: float | None = None
) -> tuple[Expectation, Outputs]:
    """One case on one distribution; returns what was expected, and copies of what came."""
    name = check_name(case, distribution)
    inputs = climb.draw(case, distribution)
    # The candidate runs first: nothing of the reference can be left in its memory.
    run = climb.run(name, case, inputs, climb.session.schedules[0])
    expectation = climb.expect(
        name,
        case,
        inputs,
        known_sensitivity=known_sensitivity,
        equal_terms=distribution.has_equal_terms,
    )
    passed = climb.judge(expectation, run.outputs)
    if distribution is Distribution.NORMAL:
        climb.sensitivity = max(climb.sensitivity, *(each.sensitivity for each in passed))
        if case.name != climb.spec.timed.name:
            passing = trivial_answers(expectation)
            climb.trivial = passing if climb.trivial is None else climb.trivial & passing
    return expectation, kept(run.outputs)


def check_accuracy(climb: Climb) -> None:
    """Zero-mean data at every check, and run again; every distribution at the first."""
    others = [each for each in climb.policy.distributions if each is not Distribution.NORMAL]
    first: tuple[Expectation, Outputs] | None = None
    for index, case in enumerate(climb.spec.checks):
        expectation, outputs = check_case(climb, case, Distribution.NORMAL)
        require_repeatable(climb, expectation, outputs, climb.policy.repeats if not index else 1)
        if first is None:
            first = expectation, outputs
            require_fresh(climb, expectation, outputs)
        for distribution in others if not index else others[index - 1 : index]:
            check_case(climb, case, distribution)
    if first is not None:  # after all the others, in another order than before
        require_repeatable(climb, *first, 1)
