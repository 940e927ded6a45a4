"""Taking up a run: killed, stopped, or emulated and now on a GPU machine."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from langgraph.types import Command

from cutegen.agents.ask import Chat
from cutegen.agents.models.choice import check_agents
from cutegen.events import Event
from cutegen.execution.protocol import Executor
from cutegen.graphs.context import Context
from cutegen.graphs.following import (
    CHECKPOINTS,
    drain,
    follow,
    open_run,
    resumed,
)
from cutegen.graphs.live_context import LiveContext, name_of
from cutegen.graphs.recording import recorded
from cutegen.graphs.settings import Budget, Settings
from cutegen.graphs.start import own_architecture, start_run
from cutegen.graphs.state import Node, State, plain
from cutegen.graphs.takeover import judge_lineage
from cutegen.graphs.waiting import finished_or_waiting
from cutegen.result import RESULT_FILE, RunResult


def resume_run(
    run_dir: str | Path,
    *,
    model: str | Chat | None = None,
    models: Mapping[str, str] | None = None,
    temperature: float | None = None,
    temperatures: Mapping[str, float] | None = None,
    executor: str | Executor | None = None,
    budget: Budget | None = None,
    reply: str | None = None,
    record: str | Path | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunResult:
    """Take up a run where it was left: killed, stopped, waiting, or emulated and now on a GPU.

    With another executor than the run's own, every candidate that was verified so far is
    verified and measured again, oldest first, and the search goes on from the best of them.
    Models, temperatures, executor and budget are the run's own unless they are given. ``reply``
    answers the question that a run with the model ``human`` waits at; ``record`` is as for
    ``run_graph``.

    Raises:
        FileNotFoundError: This is no run folder.
        EnvironmentUnfitError: The executor asked for cannot be used here.
        RunBusyError: Another process is at work on this run.
        ValueError: There is a reply, but the run waits for none.
    """
    events = stream_resumed(
        run_dir,
        model=model,
        models=models,
        temperature=temperature,
        temperatures=temperatures,
        executor=executor,
        budget=budget,
        reply=reply,
        record=record,
    )
    return drain(events, on_event)


def stream_resumed(
    run_dir: str | Path,
    *,
    model: str | Chat | None = None,
    models: Mapping[str, str] | None = None,
    temperature: float | None = None,
    temperatures: Mapping[str, float] | None = None,
    executor: str | Executor | None = None,
    budget: Budget | None = None,
    reply: str | None = None,
    record: str | Path | None = None,
) -> Generator[Event, None, RunResult]:
    """``resume_run`` as a generator of its events, whose return value is the result."""
    folder = Path(run_dir).resolve()
    if not (folder / CHECKPOINTS).exists():
        raise FileNotFoundError(f"{run_dir} is no run folder: it has no {CHECKPOINTS}")
    context = LiveContext(
        runs_dir=str(folder.parent),
        live_chat=None if model is None or isinstance(model, str) else model,
        live_executor=None if executor is None or isinstance(executor, str) else executor,
    )
    with open_run(folder) as (graph, config), recorded(folder, record):
        snapshot = graph.get_state(config)
        state = start_run(context, folder.name) | cast("State", snapshot.values)
        old = Settings.model_validate(state["settings"])
        new = _renewed(old, context, executor, budget).model_copy(
            update=_other_models(model, models, temperature, temperatures)
        )
        context = replace(context, new_settings=new)
        if reply is not None and not snapshot.interrupts:
            raise ValueError(f"{run_dir} waits for no reply: resume it without one")
        if not snapshot.next and not state.get("stop") and new == old:
            return RunResult.load(folder)
        (folder / RESULT_FILE).unlink(missing_ok=True)
        yield resumed(state, context)
        if new.executor != old.executor and state["steps"]:
            update = yield from judge_lineage(state, context, new)
            graph.update_state(config, plain(update), as_node="measure")
            yield from follow(graph, None, config, context)
        elif snapshot.next:
            answer: Command[Node] | None = None if reply is None else Command(resume=reply)
            yield from follow(graph, answer, config, context)
        else:
            again: Command[Node] = Command(
                update={"stop": None, "status": ""}, goto=_left_at(state)
            )
            yield from follow(graph, again, config, context)
        return (yield from finished_or_waiting(graph.get_state(config), state, context))


def _renewed(
    old: Settings,
    context: Context,
    executor: str | Executor | None,
    budget: Budget | None,
) -> Settings:
    """The run's settings, with what the caller changes."""
    changes: dict[str, object] = {}
    if executor is not None:
        name = context.judge(name_of(executor)).name
        changes["executor"] = name
        if name != old.executor:
            changes["arch"] = own_architecture(name)
    if budget is not None:
        changes["budget"] = budget
    return old.model_copy(update=changes)


def _other_models(
    model: str | Chat | None,
    models: Mapping[str, str] | None,
    temperature: float | None,
    temperatures: Mapping[str, float] | None,
) -> dict[str, object]:
    """What changes about who is asked. A model for all takes every agent's own one away."""
    changes: dict[str, object] = {}
    if model is not None:
        changes |= {"model": name_of(model), "models": {}}
    if models is not None:
        check_agents(models)
        changes["models"] = dict(models)
    if temperature is not None:
        changes |= {"temperature": temperature, "temperatures": {}}
    if temperatures is not None:
        check_agents(temperatures)
        changes["temperatures"] = dict(temperatures)
    return changes


def _left_at(state: State) -> Node:
    """Where a finished run goes on: where it was stopped, else where a search goes on."""
    stop = state.get("stop")
    if stop:
        return stop["node"]
    return "select" if state.get("best") else "synthesize"
