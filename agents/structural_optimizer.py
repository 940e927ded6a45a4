"""The structural optimizer: one change of design at a time, without counters."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import OutOfIdeas
from cutegen.agents.request import StructuralRequest
from cutegen.agents.revision import Revision, parse_revision


def propose_structure(model: Chat, request: StructuralRequest) -> Answer[Revision | OutOfIdeas]:
    """Ask for one structural change of the best verified kernel."""
    return ask(model, request, lambda text: parse_revision(text, request.source))
