"""What agents answer, and how the text of a chat model becomes it."""

from cutegen.agents.request import Cause

from cutegen.edits import Edit
from cutegen.frozen import Frozen


class WholeKernel(Frozen):
    """The synthesizer's answer: a complete source."""

    intent: str
    source: str


class Patch(Frozen):
    """A repairer's or an optimizer's answer: one intent, anchored edits."""

    intent: str
    expected: str = ""
    edits: tuple[Edit, ...]


class Diagnosis(Frozen):
    """The diagnostician's answer: ranked causes."""

    causes: tuple[Cause, ...]


class OutOfIdeas(Frozen):
    """An optimizer has nothing left to propose, and says why."""

    reason: str


class Unsupported(Frozen):
    """A synthesizer cannot write this kernel, and names the operation."""

    operation: str
    reason: str


class ReplyError(ValueError):
    """A reply does not parse; the message quotes the fault for the one re-ask."""


REQUEST_KEY = "cutegen_request"
"""Key of ``HumanMessage.additional_kwargs`` under which the request's JSON travels."""
