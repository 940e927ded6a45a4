"""What a run cost: seconds by what was done in them, and calls, tokens and money by agent."""

from collections.abc import Iterable, Sequence

from cutegen.events import Event, Finished, NodeStarted, RunStarted
from cutegen.frozen import Frozen
from cutegen.store import ModelCall

_WORK = {
    "compile": "building",
    "verify": "verifying",
    "measure": "measuring",
    "profile": "profiling",
    "select": "deciding",
    "finish": "finishing",
}


class AgentUse(Frozen):
    """What the calls of one agent add up to; the cost is None where a price is unknown."""

    agent: str
    calls: int
    seconds: float
    tokens: int
    cost_usd: float | None


def seconds_by_work(events: Sequence[Event]) -> dict[str, float]:
    """Seconds between the beginning of a node and of the next, by kind of work.

    The nodes in which agents speak count as ``agents``. Pauses between two sessions of a run
    count as nothing.
    """
    spent: dict[str, float] = {}
    work, since = "", 0.0
    for event in events:
        if not isinstance(event, NodeStarted | RunStarted | Finished):
            continue
        if work and not isinstance(event, RunStarted):
            spent[work] = spent.get(work, 0.0) + max(0.0, event.at - since)
        work = _WORK.get(event.node, "agents") if isinstance(event, NodeStarted) else ""
        since = event.at
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def use_by_agent(calls: Iterable[ModelCall]) -> tuple[AgentUse, ...]:
    """One line per agent, in the order of its first call."""
    found: dict[str, AgentUse] = {}
    for call in calls:
        known = found.get(call.agent) or AgentUse(
            agent=call.agent, calls=0, seconds=0.0, tokens=0, cost_usd=0.0
        )
        tokens, cost = call.usage.get("total_tokens", 0), call.usage.get("cost_usd", 0.0)
        priced = isinstance(cost, int | float) and known.cost_usd is not None
        found[call.agent] = AgentUse(
            agent=call.agent,
            calls=known.calls + 1,
            seconds=known.seconds + call.seconds,
            tokens=known.tokens + (tokens if isinstance(tokens, int) else 0),
            cost_usd=known.cost_usd + cost
            if priced and known.cost_usd is not None and isinstance(cost, int | float)
            else None,
        )
    return tuple(found.values())
