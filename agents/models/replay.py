"""A recorded run, replayed strictly; and the recorder that makes one.

A recording is a file of JSON lines, one per answered call, in order:
``{"agent": …, "prompt_sha": …, "reply": …}``. A null ``prompt_sha`` is not checked.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import ValidationError

from cutegen.agents.ask import Chat
from cutegen.agents.models.errors import ModelError
from cutegen.agents.reply import REQUEST_KEY
from cutegen.frozen import Frozen


class RecordedCall(Frozen):
    """One answered call."""

    agent: str
    prompt_sha: str | None = None
    reply: str


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
        if call.prompt_sha not in (None, prompt_sha(messages)):
            raise ModelError(
                f"call {self._next + 1} of {self._path} ({agent}) was recorded with another "
                "prompt: record the run again"
            )
        self._next += 1
        return AIMessage(call.reply)

    def skip(self, count: int) -> None:
        """Pass over calls that a resumed run had answered before."""
        self._next += count


class RecordingChat:
    """Passes every call on, and appends it to a recording."""

    def __init__(self, chat: Chat, path: Path) -> None:
        """Record what ``chat`` answers into ``path``."""
        self._chat = chat
        self._path = path

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Answer the conversation, and record the answer."""
        reply = self._chat.invoke(messages)
        call = RecordedCall(
            agent=asked_agent(messages), prompt_sha=prompt_sha(messages), reply=str(reply.text)
        )
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(call.model_dump_json() + "\n")
        return reply


def asked_agent(messages: Sequence[BaseMessage]) -> str:
    """The agent whose request travels beside the prompt."""
    for message in messages:
        request = message.additional_kwargs.get(REQUEST_KEY)
        if isinstance(request, dict):
            return str(request["agent"])
    raise ModelError("no request travels beside this prompt; ask through cutegen.agents.ask")


def prompt_sha(messages: Sequence[BaseMessage]) -> str:
    """Hash of a conversation's texts."""
    texts = json.dumps([[message.type, str(message.text)] for message in messages])
    return hashlib.sha256(texts.encode()).hexdigest()
