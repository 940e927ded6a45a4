"""The diagnostician: why a candidate failed, as ranked causes."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import Diagnosis, OutOfIdeas, parse_diagnosis
from cutegen.agents.request import DiagnosisRequest


def diagnose(model: Chat, request: DiagnosisRequest) -> Answer[Diagnosis | OutOfIdeas]:
    """Ask for causes, most likely first, each with a line and the smallest change to test it."""
    return ask(model, request, parse_diagnosis)
