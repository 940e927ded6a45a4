"""What an agent is asked. The request travels beside the rendered prompt (DESIGN §8)."""

from typing import Literal

from cutegen.frozen import Frozen
from cutegen.history import Step
from cutegen.measurement.profile import Profile
from cutegen.spec import KernelSpec
from cutegen.structure import Fingerprint
from cutegen.verification.verdict import Verdict


class Cause(Frozen):
    """One possible cause of a failure, most likely first in a diagnosis."""

    cause: str
    line: int = 0
    smallest_change: str = ""


class SynthesisRequest(Frozen):
    """Write a first kernel. ``failed`` holds what earlier syntheses came to."""

    agent: Literal["synthesizer"] = "synthesizer"
    spec: KernelSpec
    header: str
    arch: str
    failed: tuple[Step, ...] = ()


class DiagnosisRequest(Frozen):
    """Say why a candidate failed."""

    agent: Literal["diagnostician"] = "diagnostician"
    spec: KernelSpec
    header: str
    arch: str
    source: str
    verdict: Verdict
    history: tuple[Step, ...] = ()


class RepairRequest(Frozen):
    """Mend a candidate, keeping its structure: by small anchored edits, or in a whole file."""

    agent: Literal["repairer"] = "repairer"
    spec: KernelSpec
    header: str
    arch: str
    source: str
    verdict: Verdict
    causes: tuple[Cause, ...]
    history: tuple[Step, ...] = ()
    rewrite: bool = False


class StructuralRequest(Frozen):
    """Propose one structural change of a verified kernel.

    ``evidence`` is what the tuner saw in the profile when it handed this structure back; empty
    where it did not.
    """

    agent: Literal["structural_optimizer"] = "structural_optimizer"
    spec: KernelSpec
    header: str
    arch: str
    source: str
    fingerprint: Fingerprint
    history: tuple[Step, ...] = ()
    evidence: str = ""


class TuningRequest(Frozen):
    """Propose a change of parameters, with the profile at hand; None in a run without one.

    ``may_hand_back``: the tuner may say that the structure is at fault.
    """

    agent: Literal["profile_tuner"] = "profile_tuner"
    spec: KernelSpec
    header: str
    arch: str
    source: str
    fingerprint: Fingerprint
    profile: Profile | None
    history: tuple[Step, ...] = ()
    may_hand_back: bool = False


AgentRequest = (
    SynthesisRequest | DiagnosisRequest | RepairRequest | StructuralRequest | TuningRequest
)

AGENTS = (
    "synthesizer",
    "diagnostician",
    "repairer",
    "structural_optimizer",
    "profile_tuner",
)
