"""One process at work on a suite: the graph on the suite's own checkpoints, followed to its end."""

import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver

from cutegen.graphs.context import Context
from cutegen.graphs.following import SUPERSTEPS, locked
from cutegen.graphs.suite_graph import (
    NAME,
    SuiteInput,
    SuiteState,
    at_once,
    build_suite,
    ended_members,
)
from cutegen.graphs.suite_process import Members
from cutegen.result import Question
from cutegen.suite import (
    SUITE_FILE,
    MemberStatus,
    SuiteEvent,
    SuiteMember,
    SuiteResult,
    parse_suite_event,
)

SUITE_CHECKPOINTS = "suite.sqlite"


def drain_suite(
    events: Generator[SuiteEvent, None, SuiteResult], on_event: Callable[[SuiteEvent], None] | None
) -> SuiteResult:
    """Run a generator of events to its end; returns its result."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            result = end.value
            assert isinstance(result, SuiteResult)
            return result
        if on_event is not None:
            on_event(event)


def is_suite(folder: Path) -> bool:
    """Whether a suite was begun in this folder."""
    return (folder / SUITE_CHECKPOINTS).exists()


def follow_suite(
    folder: Path, context: Context, start: SuiteInput | None, jobs: int
) -> Generator[SuiteEvent, None, SuiteResult]:
    """Run a suite to its end, or to questions; one that ended tries those without a result again.

    Args:
        folder: The suite's.
        context: Its choices; ``runs_dir`` is the folder above.
        start: What it starts from; None, or not looked at, if it was begun before.
        jobs: How many members are at work side by side; by the number of cores if 0.

    Raises:
        RunBusyError: Another process is at work on it.
    """
    members = Members()
    database = str(folder / SUITE_CHECKPOINTS)
    with locked(folder), SqliteSaver.from_conn_string(database) as saver, _interruptible(members):
        graph = build_suite(members).compile(name=NAME, checkpointer=saver)
        config: RunnableConfig = {
            "configurable": {"thread_id": folder.name},
            "recursion_limit": SUPERSTEPS,
            "max_concurrency": 1 + (jobs or at_once()),  # one waits for events
        }
        snapshot = graph.get_state(config)
        if snapshot.values:
            start = None
            if not snapshot.next:  # all came to an end; those without a result are tried again
                (folder / SUITE_FILE).unlink(missing_ok=True)
                graph.update_state(config, {"members": {}}, as_node="plan")
        parts = graph.stream(
            start, config, context=context, stream_mode="custom", durability="sync"
        )
        for part in parts:
            yield parse_suite_event(part)
        snapshot = graph.get_state(config)
        state = cast("SuiteState", snapshot.values)
        ended = ended_members(state)
        if not snapshot.interrupts:
            return SuiteResult.load(folder)
        questions = [Question.model_validate(each.value) for each in snapshot.interrupts]
        return SuiteResult.of(folder, [*ended, *_waiting(state, folder, questions)])


def _waiting(
    state: SuiteState, folder: Path, questions: Iterable[Question]
) -> Iterator[SuiteMember]:
    """The members that wait for a person; each answers in its own run."""
    asked = {question.prompt_file.parent.parent.name: question for question in questions}
    for task in state["tasks"]:
        if task["run_id"] in asked:
            question = asked[task["run_id"]]
            waiting = SuiteMember.without_result(
                task["spec_file"],
                folder / task["run_id"],
                MemberStatus.WAITING,
                f"the {question.agent} waits for a reply to {question.prompt_file}",
            )
            yield waiting.model_copy(update={"question": question})


@contextmanager
def _interruptible(members: Members) -> Iterator[None]:
    """Ctrl-C ends the members at once: their groups do not hear of it, and LangGraph waits."""
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is signal.SIG_IGN:  # in the background, nobody presses it
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        members.end()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
