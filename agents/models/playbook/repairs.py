"""Diagnosis and repair by the playbook: from the evidence, and from the design it meant to write.

A source of the playbook names its design in its tag. Where the text differs from what that design
reads like, the difference is the suspect; where it does not, the design itself asks too much of
the machine, and a smaller one of the same structure is the repair.
"""

import difflib
from typing import Any

from cutegen.agents.models.playbook.library import Playbook
from cutegen.agents.models.playbook.writing import diagnosis, out_of_ideas, patch
from cutegen.agents.request import DiagnosisRequest, RepairRequest
from cutegen.status import Status
from cutegen.verification.verdict import Verdict

_TOO_MUCH = (
    "shared memory",
    "shared data",  # ptxas
    "__shared__ memory",  # the emulator
    "out of resources",
    "out of registers",
    "invalid configuration",
    "too many resources",
)


def diagnosis_of(playbook: Playbook[Any], request: DiagnosisRequest) -> str:
    """Name the cause of a failure, with its line and the smallest change."""
    intended = playbook.intended(request.source)
    if intended is None:
        return out_of_ideas("this source is not the playbook's own, so it knows no intended form")
    evidence = _evidence(request.verdict)
    if intended != request.source:
        return diagnosis(_differences(request.source, intended, evidence))
    smaller = playbook.smaller(request.source, request.history)
    excess = _excess(request.verdict)
    if excess and smaller is not None:
        move, _ = smaller
        cause = f"the design asks more of a block than the machine has: {excess}"
        return diagnosis([(cause, 0, move.intent)])
    return out_of_ideas(f"the design is as the playbook means it, and still: {evidence}")


def repair_of(playbook: Playbook[Any], request: RepairRequest) -> str:
    """Turn the source into the intended one, or into a smaller design of the same structure."""
    intended = playbook.intended(request.source)
    if intended is None:
        return out_of_ideas("this source is not the playbook's own, so it knows no intended form")
    cause = request.causes[0].cause if request.causes else "the reported fault"
    if intended != request.source:
        return patch(f"mend: {cause}", "", request.source, intended)
    smaller = playbook.smaller(request.source, request.history)
    if smaller is None or not _excess(request.verdict):
        return out_of_ideas("the source is as intended, and no smaller design would mend it")
    move, source = smaller
    return patch(f"fit the machine: {move.intent}", move.expected, request.source, source)


def _differences(source: str, intended: str, evidence: str) -> list[tuple[str, int, str]]:
    """At most three places where the source is not what its design reads like."""
    before, after = source.splitlines(), intended.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    causes = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        found = " ".join(before[i1:i2]).strip() or "nothing"
        wanted = " ".join(after[j1:j2]).strip()
        change = f"write `{wanted}`" if wanted else f"remove `{found}`"
        causes.append((f"`{found}` breaks the design: {evidence}", i1 + 1, change))
    return causes[:3]


def _evidence(verdict: Verdict) -> str:
    """The verdict in one line, with the compiler's first error where there is one."""
    parts = [verdict.status.value, verdict.evidence.summary]
    parts += [diagnostic.message for diagnostic in verdict.evidence.diagnostics[:1]]
    return ": ".join(" ".join(part.split()) for part in parts if part)


def _excess(verdict: Verdict) -> str:
    """The line of the evidence that says which resource ran out; empty where none does."""
    if verdict.status not in (Status.COMPILE_ERROR, Status.LAUNCH_ERROR):
        return ""
    evidence = verdict.evidence
    said = (
        *(diagnostic.message for diagnostic in evidence.diagnostics),
        *evidence.log.splitlines(),
        *evidence.hints,
        evidence.summary,
    )
    signs = (line for line in said if any(sign in line.lower() for sign in _TOO_MUCH))
    return next(signs, "")
