"""From a model's name to the model."""

from pathlib import Path

from cutegen.agents.ask import Chat
from cutegen.agents.models.replay import ReplayChat

DEFAULT_MODEL = "playbook"


def resolve_model(name: str = DEFAULT_MODEL) -> Chat:
    """Find the model that ``name`` means: ``playbook``, ``openai:NAME`` or ``replay:FILE``.

    Raises:
        ValueError: The name means none of them.
        ModelError: The model named cannot be used on this machine; the message says why.
    """
    kind, _, rest = name.partition(":")
    match kind, rest:
        case "playbook", "":
            from cutegen.agents.models.playbook.model import (  # noqa: PLC0415 - its library is large
                PlaybookChatModel,
            )

            return PlaybookChatModel()
        case "openai", str(model) if model:
            from cutegen.agents.models.openai import OpenAIChat  # noqa: PLC0415 - a second to import

            return OpenAIChat(model)
        case "replay", str(path) if path:
            return ReplayChat(Path(path))
    raise ValueError(f"{name!r} is no model: use playbook, openai:NAME or replay:FILE")
