"""What is told while a model is being asked: how much was heard, what had to be tried again."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from langchain_core.messages import AIMessage, BaseMessage

from cutegen.frozen import Frozen

ESTIMATED = "usage_estimated"
"""Set in a reply's ``response_metadata`` where the server counted no tokens and we did, roughly."""


class Heard(Frozen):
    """So many characters of the reply have come."""

    characters: int


class TriedAgain(Frozen):
    """A request failed in passing, and is repeated after ``wait_s`` seconds."""

    reason: str
    wait_s: float


Progress = Heard | TriedAgain


@runtime_checkable
class TellingChat(Protocol):
    """A chat model whose replies take time, and that tells how they come along."""

    def invoke_telling(
        self, messages: list[BaseMessage], tell: Callable[[Progress], None], /
    ) -> AIMessage:
        """Answer the conversation."""
