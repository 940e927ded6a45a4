"""A context that brings objects of this process: what Python callers may pass for a name."""

from dataclasses import dataclass
from pathlib import Path

from cutegen.agents.ask import Chat
from cutegen.agents.models.choice import ModelChoice
from cutegen.execution.protocol import Executor
from cutegen.graphs.context import Context
from cutegen.graphs.settings import Settings


@dataclass(kw_only=True, frozen=True)
class LiveContext(Context):
    """A context that brings objects of this process; for Python callers only."""

    live_chat: Chat | None = None
    live_executor: Executor | None = None
    new_settings: Settings | None = None

    @property
    def named_models(self) -> frozenset[str]:
        """Those of agents, and the common one if it is no object."""
        return super().named_models if self.live_chat is None else frozenset(self.models.values())

    @property
    def renewed(self) -> Settings | None:
        """The settings that the caller brings."""
        return self.new_settings

    def chat(self, choice: ModelChoice, folder: Path) -> Chat:
        """The caller's model, or the one that the settings choose."""
        if self.live_chat is not None and choice.name == name_of(self.live_chat):
            return self.live_chat
        return super().chat(choice, folder)

    def judge(self, name: str) -> Executor:
        """The caller's executor, or the one that the settings name."""
        return self.live_executor or super().judge(name)


def name_of(thing: str | Chat | Executor) -> str:
    """The name of a model or an executor."""
    if isinstance(thing, str):
        return thing
    return str(getattr(thing, "name", None) or type(thing).__name__)
