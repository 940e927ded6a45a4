"""Rung: equal inputs give equal bits, whatever the schedule and whatever ran in between."""

from cutegen.verification.expectation import Expectation
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.telling_apart import Outputs, agree, unsteady


def require_repeatable(climb: Climb, expectation: Expectation, first: Outputs, turns: int) -> None:
    """Run again, under each schedule by turns.

    Raises:
        BrokenRungError: A race, floating-point atomics, or state kept between calls.
    """
    schedules = climb.session.schedules
    for turn in range(turns):
        schedule = schedules[(turn + 1) % len(schedules)]
        again = climb.run(expectation.name, expectation.case, expectation.inputs, schedule)
        if again.failure is None and not agree(first, again.outputs):
            raise unsteady(climb.session, expectation, again.outputs, schedule)
