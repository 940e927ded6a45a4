"""Rung: the shapes that are timed are checked too, where the executor can run them."""

from cutegen.verification.inputs import Distribution
from cutegen.verification.rungs.accuracy import check_case
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.determinism import require_repeatable


def check_timed(climb: Climb) -> str:
    """Zero-mean data at the timed shapes, run twice.

    Returns:
        Where the sensitivity came from: ``measured``, or ``assumed`` from the checks because
        the device cannot hold another float64 evaluation; ``not run`` on a small machine.
    """
    timed = climb.spec.timed
    if not climb.session.runs_timed_case(timed):
        return "not run"
    known = climb.sensitivity if climb.spec.checks else None
    expectation, outputs = check_case(climb, timed, Distribution.NORMAL, known)
    require_repeatable(climb, expectation, outputs, 1)
    return "assumed" if expectation.sensitivity_assumed else "measured"
