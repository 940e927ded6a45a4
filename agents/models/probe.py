"""What a model can do for us: a few small questions, for ``cutegen doctor --model``."""

import time

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.openai import OpenAIChat
from cutegen.agents.models.prices import PRICES, price_of
from cutegen.agents.models.progress import ESTIMATED
from cutegen.agents.models.resolve import resolve_model
from cutegen.agents.reply import OutOfIdeas, ReplyError, parse_patch
from cutegen.doctor import Finding, Health
from cutegen.edits import EditRefusedError, apply_edits

_SOURCE = "constexpr int kThreads = 128;\nconstexpr int kStages = 2;\n"
_QUESTION = f"""\
Change kThreads to 256 in this source:

{_SOURCE}
Answer in exactly this format, and with nothing else:

INTENT: what the change is, in one line
<<<<<<< SEARCH
the line to change, copied exactly
=======
the line that replaces it
>>>>>>> REPLACE
"""
_MESSAGES: list[BaseMessage] = [
    SystemMessage("You edit CUDA sources by SEARCH/REPLACE blocks."),
    HumanMessage(_QUESTION),
]


def probe(name: str) -> tuple[Finding, ...]:
    """Ask a model once, and judge how it answers; never raises because it does not.

    Args:
        name: As in ``--model``. Those that need no service have nothing to be probed.
    """
    try:
        chat = resolve_model(name, temperature=0.0)
    except (ModelError, ValueError) as error:
        return (_finding("model", name, Health.MISSING, str(error)),)
    if not isinstance(chat, OpenAIChat):
        return (_finding("model", f"{name} needs no service", Health.OK),)
    began = time.monotonic()
    try:
        reply = chat.invoke(_MESSAGES)
    except ModelError as error:
        return (_finding("model", name, Health.MISSING, str(error)),)
    seconds = time.monotonic() - began
    without = chat.given_up
    counted = not reply.response_metadata.get(ESTIMATED)
    return (
        _finding("model", f"{name} answered in {seconds:.1f} s", Health.OK),
        _format(str(reply.text)),
        _ability("streaming", "stream" not in without, "a slow reply shows no progress"),
        _ability(
            "temperature", "temperature" not in without, "the server chooses it; ours is ignored"
        ),
        _ability("token counts", counted, "tokens are estimated from the text, and so is the cost"),
        _ability(
            "price",
            price_of(name) is not None,
            f"the cost is unknown: put a price into a file that {PRICES} names",
        ),
    )


def _format(text: str) -> Finding:
    part = "reply format"
    try:
        patch = parse_patch(text)
        edits = () if isinstance(patch, OutOfIdeas) else patch.edits
        right = "kThreads = 256" in apply_edits(_SOURCE, edits)
    except (ReplyError, EditRefusedError) as error:
        advice = "expect lost steps: the model does not keep to a format; take a larger one"
        return _finding(part, str(error), Health.DEGRADED, advice)
    if not right:
        return _finding(part, "kept, but the edit is wrong", Health.DEGRADED, "take a larger model")
    return _finding(part, "kept", Health.OK)


def _ability(part: str, there: bool, without: str) -> Finding:
    return (
        _finding(part, "yes", Health.OK)
        if there
        else _finding(part, "no", Health.DEGRADED, without)
    )


def _finding(part: str, detail: str, health: Health, advice: str = "") -> Finding:
    return Finding(part=part, health=health, detail=detail, advice=advice)
