"""The history as rounds: a proposal together with the repairs made to it."""

from collections.abc import Sequence

from cutegen.history import Decision, Step, StepKind
from cutegen.structure import Fingerprint


def rounds_of(history: Sequence[Step], kind: StepKind) -> list[list[Step]]:
    """Proposals of one kind, each with the repairs made to it; declined ones are no rounds."""
    rounds: list[list[Step]] = []
    ours = False
    for step in history:
        if step.kind is not StepKind.REPAIR and not step.beside:
            ours = step.kind is kind and step.decision.is_about_a_proposal
            if ours:
                rounds.append([])
        if ours:
            rounds[-1].append(step)
    return rounds


def after_last_structure(history: Sequence[Step]) -> Sequence[Step]:
    """The steps after the last accepted one whose fingerprint was new."""
    start = 0
    best: Fingerprint | None = None
    for position, step in enumerate(history):
        if step.decision is not Decision.ACCEPTED or step.fingerprint is None:
            continue
        if best is None or not step.fingerprint.same_structure(best):
            start = position + 1
        best = step.fingerprint
    return history[start:]
