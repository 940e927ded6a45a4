"""A run that waits for a person: its question as an event, and its standing as a result."""

from collections.abc import Generator
from pathlib import Path
from typing import cast

from langgraph.types import StateSnapshot

from cutegen.events import AgentWaits, Event, parse_event
from cutegen.graphs.context import Context
from cutegen.graphs.state import State
from cutegen.graphs.workshop import Workshop
from cutegen.result import Question, RunResult, RunStatus


def finished_or_waiting(
    snapshot: StateSnapshot, start: State, context: Context
) -> Generator[Event, None, RunResult]:
    """The result that the last node wrote, or what a person must answer first.

    Args:
        snapshot: Where the graph stands.
        start: The state it was started from: its first node may not have come to its end.
        context: The caller's choices.
    """
    folder = Path(context.runs_dir) / start["run_id"]
    if not snapshot.interrupts:
        return RunResult.load(folder)
    question = Question.model_validate(snapshot.interrupts[0].value)
    told: list[object] = []
    shop = Workshop.of(start | cast("State", snapshot.values), context, told.append)
    shop.emit(AgentWaits(agent=question.agent, prompt_file=str(question.prompt_file)))
    yield from map(parse_event, told)
    usage = shop.folder.ledger.usage()
    return RunResult(
        status=RunStatus.WAITING,
        run_id=shop.run_id,
        run_dir=folder.resolve(),
        spec=shop.spec.id,
        spec_name=shop.spec.name,
        question=question,
        steps=shop.history,
        reason=f"the {question.agent} waits for a reply to {question.prompt_file}",
        executor=shop.settings.executor,
        model=shop.settings.model_names,
        method=shop.settings.method,
        model_calls=usage.calls,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        uncounted_calls=usage.uncounted,
    )
