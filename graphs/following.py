"""One process at work on a run: the graph on the run's own checkpoints, followed to its end."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from cutegen.events import Event, parse_event
from cutegen.faults import RunBusyError
from cutegen.graphs.context import Context
from cutegen.graphs.kernel_graph import NAME, build_graph, run_started
from cutegen.graphs.state import Node, RunInput, State
from cutegen.graphs.workshop import Workshop
from cutegen.result import RunResult

Compiled = CompiledStateGraph[State, Context, RunInput, State]

CHECKPOINTS = "checkpoints.sqlite"
_LOCK = "run.lock"
_HANDOVER_S = 1.0  # a program that a killed process was just starting has its files until then
SUPERSTEPS = 100_000  # the run's own budget ends it long before


def drain(
    events: Generator[Event, None, RunResult], on_event: Callable[[Event], None] | None
) -> RunResult:
    """Run a generator of events to its end; returns its result."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            result = end.value
            assert isinstance(result, RunResult)
            return result
        if on_event is not None:
            on_event(event)


@contextmanager
def open_run(folder: Path) -> Iterator[tuple[Compiled, RunnableConfig]]:
    """The graph on the run's own checkpoints, and nobody else at work on them.

    Raises:
        RunBusyError: Somebody else is.
    """
    with locked(folder), SqliteSaver.from_conn_string(str(folder / CHECKPOINTS)) as saver:
        graph = build_graph().compile(name=NAME, checkpointer=saver)
        yield (
            graph,
            {"configurable": {"thread_id": folder.name}, "recursion_limit": SUPERSTEPS},
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else at work in the folder of a run or a suite, which is made when needed.

    Raises:
        RunBusyError: Somebody else is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=_HANDOVER_S)
    except Timeout:
        raise RunBusyError(
            f"another process is at work on {folder}: wait for it, or choose another run id"
        ) from None
    try:
        yield
    finally:
        lock.release()


def follow(
    graph: Compiled,
    start: RunInput | Command[Node] | None,
    config: RunnableConfig,
    context: Context,
) -> Iterator[Event]:
    """Run to the end, or to a question. Each checkpoint is on disk before the next node."""
    parts = graph.stream(start, config, context=context, stream_mode="custom", durability="sync")
    for part in parts:
        yield parse_event(part)


def resumed(state: State, context: Context) -> Event:
    """Tell that a run is taken up again."""
    told: list[object] = []
    shop = Workshop.of(state, context, told.append)
    shop.emit(run_started(shop, resumed=True))
    return parse_event(told[0])
