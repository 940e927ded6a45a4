"""From a model's name to the model."""

from pathlib import Path

from cutegen.agents.ask import Chat
from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.replay import ReplayChat

DEFAULT_MODEL = "playbook"


def resolve_model(
    name: str = DEFAULT_MODEL, folder: Path | None = None, temperature: float | None = None
) -> Chat:
    """Find the model that ``name`` means.

    Args:
        name: ``playbook``, ``openai:NAME`` or ``openai:NAME@URL``, ``human`` or ``replay:FILE``.
        folder: Of the run that asks; ``human`` leaves its prompts there.
        temperature: For models that have one; their own if None.

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
        case "human", "":
            if folder is None:
                raise ModelError(
                    "the model `human` answers inside a run only: `cutegen run … --model human`"
                )
            from cutegen.agents.models.human import HumanChat  # noqa: PLC0415 - brings the graph

            return HumanChat(folder)
        case "openai", str(model) if model:
            from cutegen.agents.models.openai import OpenAIChat  # noqa: PLC0415 - a second to import

            return OpenAIChat(model, temperature=temperature)
        case "replay", str(path) if path:
            return ReplayChat(Path(path))
    raise ValueError(f"{name!r} is no model: use playbook, openai:NAME, human or replay:FILE")
