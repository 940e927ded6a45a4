"""Asking a chat model: one prompt, one re-ask that quotes the fault, then the step is lost."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from cutegen.agents.reply import REQUEST_KEY, ReplyError
from cutegen.agents.request import AgentRequest
from cutegen.edits import EditRefusedError
from cutegen.frozen import Frozen
from cutegen.prompts import render

ParsedT = TypeVar("ParsedT")

_ATTEMPTS = 2


class Chat(Protocol):
    """What an agent needs of a chat model."""

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Answer the conversation."""


class LostStep(Frozen):
    """Two replies did not parse; the step is lost, the run goes on."""

    reason: str


class Usage(Frozen):
    """What an answer cost: calls, and tokens where the service counts them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Answer(Frozen, Generic[ParsedT]):
    """What an agent answered, and what asking cost."""

    value: ParsedT | LostStep
    usage: Usage


def ask(model: Chat, request: AgentRequest, parse: Callable[[str], ParsedT]) -> Answer[ParsedT]:
    """Render the request's prompt, ask, and parse; ask once more if the reply has a fault.

    Args:
        model: The chat model.
        request: Travels beside the prompt, for models that read it.
        parse: Turns the reply's text into a value, or raises ``ReplyError`` or
            ``EditRefusedError``, whose message is quoted to the model.
    """
    prompt = render(request)
    messages: list[BaseMessage] = [
        SystemMessage(prompt.system),
        HumanMessage(prompt.user, additional_kwargs={REQUEST_KEY: request.model_dump(mode="json")}),
    ]
    replies: list[AIMessage] = []
    fault = ""
    for _ in range(_ATTEMPTS):
        reply = model.invoke(messages)
        replies.append(reply)
        try:
            return Answer(value=parse(_text(reply)), usage=_usage(replies))
        except (ReplyError, EditRefusedError) as error:
            fault = str(error)
        messages += [
            reply,
            HumanMessage(
                f"Your reply could not be used: {fault}\n"
                "Send the whole reply again in the format asked for, with that mended."
            ),
        ]
    return Answer(value=LostStep(reason=fault), usage=_usage(replies))


def _text(reply: AIMessage) -> str:
    if reply.response_metadata.get("finish_reason") == "length":
        raise ReplyError("the reply was cut at the length limit; send a shorter one")
    return str(reply.text)


def _usage(replies: Sequence[AIMessage]) -> Usage:
    counted = [reply.usage_metadata for reply in replies if reply.usage_metadata is not None]
    return Usage(
        calls=len(replies),
        input_tokens=sum(usage["input_tokens"] for usage in counted),
        output_tokens=sum(usage["output_tokens"] for usage in counted),
    )
