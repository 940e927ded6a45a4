"""Where a run stands: what is left of its budget, and whether the profiling edge is open."""

from collections.abc import Sequence

from cutegen.events import PredicateChanged, PredicateHeld
from cutegen.graphs.edges import ROUTERS, target_is_reached, tuning_is_left
from cutegen.graphs.gate import gate
from cutegen.graphs.settings import Budget, Settings
from cutegen.graphs.state import Attempt, Node, State, Stop
from cutegen.graphs.workshop import Workshop
from cutegen.history import Step
from cutegen.result import RunStatus
from cutegen.store import Usage


def standing(node: Node, state: State, shop: Workshop) -> State:
    """What every router reads, after ``node`` has done its work.

    Args:
        node: The node that just ended.
        state: The state with that node's update.
        shop: The tools, with the history of ``state``.
    """
    budget = shop.settings.budget
    history = shop.history[state.get("counted_from", 0) :]
    edge = gate(history, shop.settings)
    if edge.open != state.get("stable", False) and history:
        shop.emit(PredicateChanged(stable=edge.open, why=edge.why))
    elif node == "select" and not edge.open:
        shop.emit(PredicateHeld(why=edge.why))
    now: State = {
        "stable": edge.open,
        "why": edge.why,
        "structure_left": edge.structure_left,
        "unprofiled": shop.settings.method.profiling == "never",
        "tuning_left": tuning_is_left(history),
        "reached": target_is_reached(history, budget.target),
        "rounds_left": state.get("rounds", 0) < budget.steps,
        "repairs_left": _repairs_left(state.get("candidate"), budget),
        "syntheses_left": state.get("syntheses", 0) < budget.syntheses,
    }
    overdrawn = _overdrawn(budget, shop.folder.ledger.usage(), state.get("wall_s", 0.0))
    if overdrawn and node in ROUTERS:
        after: State = {**state, **now}
        follower = ROUTERS[node](after)
        if follower != "finish":
            now["stop"] = Stop(status=RunStatus.STOPPED, reason=overdrawn, node=follower)
    return now


def open_predicate(history: Sequence[Step], settings: Settings) -> str:
    """Why the profiling edge is open; for the node that must not trust the state.

    Raises:
        RuntimeError: It is closed, or the run is one without profiles.
    """
    edge = gate(history, settings)
    if settings.method.profiling == "never":
        raise RuntimeError(
            "the graph is wired wrongly: profiling was reached in a run without profiles"
        )
    if not edge.open:
        raise RuntimeError(
            f"the graph is wired wrongly: profiling was reached while the structure is not "
            f"stable ({edge.why})"
        )
    return edge.why


def _repairs_left(candidate: Attempt | None, budget: Budget) -> bool:
    if candidate is None or candidate["hopeless"]:
        return False
    return candidate["repairs"] < budget.repairs


def _overdrawn(budget: Budget, usage: Usage, wall_s: float) -> str:
    """Which limit on the run's cost is reached, in words; empty when none is."""
    limits = (
        ("model calls", usage.calls, budget.model_calls),
        ("tokens", usage.tokens, budget.tokens),
        ("US dollars", round(usage.cost_usd or 0.0, 4), budget.usd),
        ("seconds", round(wall_s), budget.wall_s),
    )
    return "; ".join(
        f"the budget of {limit:g} {what} is spent ({spent})"
        for what, spent, limit in limits
        if limit and spent >= limit
    )
