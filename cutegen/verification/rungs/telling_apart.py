"""Runs that should agree and do not: is it a race, or state that a call left behind?

A race differs from schedule to schedule, and on a GPU from run to run. State repeats: a fresh
process that makes the same calls sees the same results, the first of them unlike the next.
"""

from collections.abc import Mapping

from torch import Tensor

from cutegen.spec import Case
from cutegen.verification import findings
from cutegen.verification.comparison import Comparison, compare
from cutegen.verification.expectation import Expectation
from cutegen.verification.poison import same_bits
from cutegen.verification.session import Session

_FEWEST_CALLS = 3
_MOST_CALLS = 64
_HISTORIES = 2

Outputs = dict[str, Tensor]


def kept(outputs: Mapping[str, Tensor]) -> Outputs:
    """Copies: the next run overwrites outputs."""
    return {name: output.clone() for name, output in outputs.items()}


def agree(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """Whether all outputs are the same to the bit."""
    return all(same_bits(one[name], other[name]) for name in one)


def depends_on_calls(session: Session, case: Case, inputs: Mapping[str, Tensor]) -> bool:
    """Whether equal calls in a fresh process differ, and differ again in the next one alike.

    There are as many of them as calls led to the difference: a kernel may count.
    """
    calls_made = min(max(_FEWEST_CALLS, session.runs_made), _MOST_CALLS)
    histories: list[list[Outputs]] = []
    for _ in range(_HISTORIES):
        session.restart()
        calls: list[Outputs] = []
        for _ in range(calls_made):
            run = session.run(case, inputs, session.schedules[0])
            if run.failure is not None:
                return False
            calls.append(kept(run.outputs))
        histories.append(calls)
    first, second = histories
    return all(map(agree, first, second)) and not all(agree(first[0], call) for call in first)


def require_blameless(
    session: Session,
    expectation: Expectation,
    outputs: Mapping[str, Tensor],
    comparison: Comparison,
) -> None:
    """Wrong values may come from a race, or from what earlier calls left behind.

    Raises:
        BrokenRungError: They do. Otherwise they are simply wrong.
    """
    case, inputs = expectation.case, expectation.inputs
    first = kept(outputs)
    for schedule in session.schedules:
        again = session.run(case, inputs, schedule)
        if again.failure is not None:
            return
        if not agree(first, again.outputs):
            if depends_on_calls(session, case, inputs):
                summary = "the values are wrong, and depend on how many calls went before"
                raise findings.stateful(expectation.name, comparison, summary)
            summary = "the values are wrong, and differ from run to run"
            raise findings.race(expectation.name, comparison, summary, schedule)
    session.restart()
    fresh = session.run(case, inputs, session.schedules[0])
    if fresh.failure is None and all(
        compare(expectation.name, fresh.outputs[target.tensor.name], target).within_bounds
        for target in expectation.targets
    ):
        summary = "the values are right in a fresh process, and wrong after other calls"
        raise findings.stateful(expectation.name, comparison, summary)


def unsteady(
    session: Session, expectation: Expectation, again: Mapping[str, Tensor], schedule: str
) -> findings.BrokenRungError:
    """Two runs on equal inputs differ: the finding that says why."""
    worst: Comparison | None = None
    for target in expectation.targets:
        comparison = compare(expectation.name, again[target.tensor.name], target)
        if worst is None or not comparison.within_bounds:
            worst = comparison
    assert worst is not None
    if depends_on_calls(session, expectation.case, expectation.inputs):
        summary = "equal calls give other values, the same ones again in a fresh process"
        return findings.stateful(expectation.name, worst, summary)
    return findings.unsteady(expectation.name, worst, schedule)
