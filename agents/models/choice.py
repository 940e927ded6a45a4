"""Which model an agent speaks to, and how warm."""

from collections.abc import Iterable, Mapping

from cutegen.agents.request import AGENTS
from cutegen.frozen import Frozen


class ModelChoice(Frozen):
    """A model by name. ``agents`` are all those of a run who share it."""

    name: str
    temperature: float | None = None
    agents: tuple[str, ...] = AGENTS


def by_agent(options: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Read options of the form ``VALUE`` or ``AGENT=VALUE``.

    Returns:
        The value for every agent that has none of its own (empty if none was given), and those
        of single agents.

    Raises:
        ValueError: A word before ``=`` is no agent where it must be one.
    """
    common, own = "", dict[str, str]()
    for option in options:
        agent, equals, value = option.partition("=")
        if equals and agent in AGENTS:
            own[agent] = value
        elif equals and agent.isidentifier():
            raise ValueError(f"{agent!r} is no agent: use {', '.join(AGENTS)}")
        else:
            common = option
    return common, own


def check_agents(mapping: Mapping[str, object]) -> None:
    """Refuse a mapping with a key that is no agent.

    Raises:
        ValueError: It has one.
    """
    unknown = sorted(set(mapping) - set(AGENTS))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no agent: use {', '.join(AGENTS)}")
