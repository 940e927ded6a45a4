"""A recorded run, replayed strictly.

A recording is a file of JSON lines, one per answered call, in order:
``{"agent": …, "prompt": [[role, text], …], "reply": …, "finish_reason": …, "usage": {…}}``.
A null ``prompt`` is not checked. ``cutegen run … --record FILE`` writes one.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import TypeAdapter, ValidationError

from cutegen.agents.models.errors import ModelError
from cutegen.agents.reply import REQUEST_KEY
from cutegen.frozen import Frozen
from cutegen.store import write_atomically

_DIFF_LIMIT = 60  # lines
_USAGE: TypeAdapter[UsageMetadata] = TypeAdapter(UsageMetadata)

Conversation = tuple[tuple[str, str], ...]
"""Roles (system, human, ai) and texts."""


class RecordedCall(Frozen):
    """One answered call."""

    agent: str
    prompt: Conversation | None = None
    reply: str
    finish_reason: str = ""
    usage: dict[str, int] = {}


class ReplayChat:
    """Answers call after call from a recording; the first mismatch ends the run."""

    def __init__(self, path: Path) -> None:
        """Read the whole recording.

        Raises:
            ModelError: The file is absent, or a line of it is no recorded call.
        """
        try:
            lines = path.read_text(encoding="utf-8").split("\n")  # splitlines() would cut strings
            self._calls = [RecordedCall.model_validate_json(line) for line in lines if line]
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            raise ModelError(f"{path} is no recording: {error}") from error
        self._path = path
        self._next = 0

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Give the next recorded reply.

        Raises:
            ModelError: The recording is at its end, or another agent or prompt was recorded.
        """
        agent = asked_agent(messages)
        if self._next == len(self._calls):
            raise ModelError(
                f"{self._path} holds {len(self._calls)} calls, and {agent} asks for another"
            )
        call = self._calls[self._next]
        if call.agent != agent:
            raise ModelError(
                f"call {self._next + 1} of {self._path} was recorded from {call.agent}, "
                f"and {agent} asks now"
            )
        asked = conversation(messages)
        if call.prompt not in (None, asked):
            raise ModelError(
                f"call {self._next + 1} of {self._path} ({agent}) was recorded with another "
                f"prompt: record the run again.\n{_difference(call.prompt or (), asked)}"
            )
        self._next += 1
        reply = AIMessage(call.reply)
        if call.finish_reason:
            reply.response_metadata = {"finish_reason": call.finish_reason}
        if call.usage:
            reply.usage_metadata = _USAGE.validate_python(call.usage)
        return reply

    def skip(self, count: int) -> None:
        """Pass over calls that a resumed run had answered before."""
        self._next += count


def write_recording(path: Path, calls: Iterable[RecordedCall]) -> None:
    """Write a recording; an old one in its place is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(call.model_dump_json() + "\n" for call in calls))


def asked_agent(messages: Sequence[BaseMessage]) -> str:
    """The agent whose request travels beside the prompt."""
    for message in messages:
        request = message.additional_kwargs.get(REQUEST_KEY)
        if isinstance(request, dict):
            return str(request["agent"])
    raise ModelError("no request travels beside this prompt; ask through cutegen.agents.ask")


def conversation(messages: Sequence[BaseMessage]) -> Conversation:
    """The texts of a conversation, without what travels beside them."""
    return tuple((message.type, str(message.text)) for message in messages)


def _difference(recorded: Conversation, asked: Conversation) -> str:
    """A unified diff from the recorded to the present prompt, cut where it gets long."""
    before, after = (
        [line for role, text in talk for line in (f"[{role}]", *text.split("\n"))]
        for talk in (recorded, asked)
    )
    diff = list(difflib.unified_diff(before, after, "recorded", "asked now", lineterm="", n=2))
    if len(diff) > _DIFF_LIMIT:
        diff[_DIFF_LIMIT:] = [f"… and {len(diff) - _DIFF_LIMIT} more lines of the difference"]
    return "\n".join(diff)
