"""Steps of runs that began before the rules of the fingerprint were today's."""

from cutegen.history import Step
from cutegen.store import Ledger, MissingObjectError, Store
from cutegen.structure import VERSION, fingerprint


def renewed(step: Step, ledger: Ledger, store: Store) -> Step:
    """The step with a fingerprint that can be compared with those of new candidates.

    A fingerprint by older rules is read anew from the candidate's source, which the run keeps. A
    step whose source is gone has none: it then counts neither as a new structure nor as an old one.
    """
    if step.fingerprint is None or step.fingerprint.version == VERSION:
        return step
    try:
        source = store.get_text(ledger.candidate(step.candidate).source)
    except MissingObjectError:
        return step.model_copy(update={"fingerprint": None})
    return step.model_copy(update={"fingerprint": fingerprint(source)})
