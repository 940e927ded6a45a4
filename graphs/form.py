"""What the form of a context says of a field: for Studio, which builds it from a JSON schema."""

from typing import Any

from cutegen.agents.request import AGENTS

MODEL = {"pattern": r"^(playbook|human|openai:.+|replay:.+)$"}


def about(
    title: str, description: str, schema: dict[str, Any] | None = None, **bounds: float
) -> dict[str, Any]:
    """What Studio's form shows of a field.

    Args:
        title: Its label.
        description: Beneath it.
        schema: What else the form knows, such as the values to choose from.
        bounds: ``ge`` and ``le``, which every context is checked against.
    """
    more = {"json_schema_extra": schema} if schema else {}
    return {"title": title, "description": description, **bounds, **more}


def by_agent(**value: Any) -> dict[str, Any]:  # noqa: ANN401 - a JSON schema
    """The schema of a mapping from agents."""
    return {"default": {}, "propertyNames": {"enum": list(AGENTS)}, "additionalProperties": value}
