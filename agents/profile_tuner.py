"""The profile tuner: changes of parameters, with the profile at hand."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import OutOfIdeas
from cutegen.agents.request import TuningRequest
from cutegen.agents.revision import Revision, parse_revision


def propose_tuning(model: Chat, request: TuningRequest) -> Answer[Revision | OutOfIdeas]:
    """Ask for a change of parameters of the best verified kernel."""
    return ask(model, request, lambda text: parse_revision(text, request.source))
