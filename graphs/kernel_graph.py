"""The kernel graph: eleven nodes, and the edges of DESIGN §4.

``graph`` is what ``langgraph.json`` exports: it has no saver, for the dev server brings its own.
``running.run_graph`` compiles the same builder with the run's SQLite saver.
"""

import time
from collections.abc import Callable
from typing import Protocol

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from cutegen.agents.models.errors import ModelError
from cutegen.events import NodeStarted, RunStarted
from cutegen.execution.protocol import EnvironmentUnfitError
from cutegen.graphs.context import Context
from cutegen.graphs.edges import ROUTERS
from cutegen.graphs.finishing import finish
from cutegen.graphs.judging import compile_candidate, measure, select, verify
from cutegen.graphs.labels import labelled
from cutegen.graphs.proposing import (
    diagnose,
    profile,
    profile_tuner,
    repair,
    structural_optimizer,
    synthesize,
)
from cutegen.graphs.standing import standing
from cutegen.graphs.start import start_run
from cutegen.graphs.state import Node, RunInput, State, Stop, plain
from cutegen.graphs.workshop import Workshop
from cutegen.result import RunStatus

NAME = "cutegen"
Work = Callable[[State, Workshop], State]

WORK: dict[Node, Work] = {
    "synthesize": synthesize,
    "compile": compile_candidate,
    "verify": verify,
    "measure": measure,
    "select": select,
    "structural_optimizer": structural_optimizer,
    "profile": profile,
    "profile_tuner": profile_tuner,
    "diagnose": diagnose,
    "repair": repair,
    "finish": finish,
}


def build_graph() -> StateGraph[State, Context, RunInput, State]:
    """The graph, not compiled yet."""
    builder = StateGraph(State, context_schema=Context, input_schema=RunInput)
    for name, work in WORK.items():
        builder.add_node(name, _node(name, work))
    builder.add_edge(START, "synthesize")
    for name, router in ROUTERS.items():
        builder.add_conditional_edges(name, *labelled(name, router))
    builder.add_edge("finish", END)
    return builder


class NodeFunction(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, *, runtime: Runtime[Context]) -> State:
        """Return the update."""


def _node(name: Node, work: Work) -> NodeFunction:
    """What every node does around its own work: events, clock, faults, standing.

    Nodes are plain functions: they compile and measure, and a call that blocks an async node
    fails under the dev server.
    """

    def node(state: State, *, runtime: Runtime[Context]) -> State:
        context = runtime.context or Context()  # None when a caller passes no context
        began = time.monotonic()
        update = entered(state, context, runtime)
        shop = Workshop.of({**state, **update}, context, runtime.stream_writer)
        if not shop.folder.log.exists():
            shop.emit(run_started(shop))
        candidate = state.get("candidate")
        shop.emit(NodeStarted(node=name, candidate=candidate["id"] if candidate else ""))
        try:
            update |= work({**state, **update}, shop)
        except (ModelError, EnvironmentUnfitError) as error:
            update["stop"] = Stop(status=RunStatus.STOPPED, reason=str(error), node=name)
        update["wall_s"] = state.get("wall_s", 0.0) + time.monotonic() - began
        after: State = {**state, **update}
        shop = Workshop.of(after, context, runtime.stream_writer)
        return plain(update | standing(name, after, shop))

    node.__name__ = name
    return node


def run_started(shop: Workshop, *, resumed: bool = False) -> RunStarted:
    """The event that opens a run's log."""
    return RunStarted(
        run_id=shop.run_id,
        run_dir=str(shop.folder.path.resolve()),
        spec=shop.spec.name,
        kernel_class=shop.spec.kernel_class,
        executor=shop.settings.executor,
        model=shop.settings.model_names,
        arch=shop.settings.arch,
        resumed=resumed,
        method=shop.settings.method,
    )


def entered(state: State, context: Context, runtime: Runtime[Context]) -> State:
    """What must be in the state before a node's work: the start of the run, new settings.

    Studio's thread is the run: its id names the run's folder.
    """
    update: State = {}
    if "spec" not in state:
        info = runtime.execution_info
        if info is None or not info.thread_id:
            raise ValueError("a run needs a thread: pass config {'configurable': {'thread_id': …}}")
        update = start_run(context, str(info.thread_id), path=state.get("spec_path"))
    if context.renewed is not None:
        update["settings"] = context.renewed.model_dump(mode="json")
    return update


graph = build_graph().compile(name=NAME)
