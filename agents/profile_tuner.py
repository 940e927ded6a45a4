"""The profile tuner: changes of parameters, with the profile at hand."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import OutOfIdeas, ReplyError, StructureAtFault, parse_hand_back
from cutegen.agents.request import TuningRequest
from cutegen.agents.revision import Revision, parse_revision
from cutegen.structure import describe_change, fingerprint


def propose_tuning(
    model: Chat, request: TuningRequest
) -> Answer[Revision | StructureAtFault | OutOfIdeas]:
    """Ask for a change of parameters of a verified kernel; one of its structure is refused."""

    def parse(text: str) -> Revision | StructureAtFault | OutOfIdeas:
        at_fault = parse_hand_back(text)
        if at_fault is not None:
            if not request.may_hand_back:
                raise ReplyError(_NO_HAND_BACK)
            return at_fault
        revision = parse_revision(text, request.source)
        if isinstance(revision, Revision):
            _keep_structure(request.source, revision.source)
        return revision

    return ask(model, request, parse)


_NO_HAND_BACK = (
    "the structure cannot be handed back now: propose other parameters, or answer "
    "`OUT_OF_IDEAS: why`"
)


def _keep_structure(before: str, after: str) -> None:
    """Refuse a change that is not one of parameters.

    Raises:
        ReplyError: The fingerprint's features differ.
    """
    old, new = fingerprint(before), fingerprint(after)
    if not new.same_structure(old):
        raise ReplyError(
            f"the edits change the structure ({describe_change(old, new)}), and you tune "
            "parameters only: change numbers and what follows from them"
        )
