"""What survives: a kill in any node, a move of the folder, a change of the executor."""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from cutegen.events import AgentAsked, NodeStarted, RunStarted, read_events
from cutegen.faults import RunBusyError
from cutegen.graphs.following import CHECKPOINTS, open_run
from cutegen.graphs.live_context import LiveContext
from cutegen.graphs.resuming import resume_run
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget, Settings
from cutegen.graphs.state import Node
from cutegen.graphs.takeover import judge_lineage
from cutegen.history import Decision
from cutegen.result import RunResult, RunStatus
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.store import Ledger

_PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server() -> Any:
    """Processes that have everything imported already, and are not forks of a threaded one."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cutegen.graphs.running", "cutegen.execution.emulated"])
    return context


@pytest.fixture
def options(everything: str, tmp_path: Path) -> dict[str, Any]:
    return {
        "model": everything,
        "executor": "emulated",
        "nvcc_gate": False,
        "runs_dir": tmp_path / "runs",
        "run_id": "killed",
    }


def untimed(result: RunResult) -> dict[str, object]:
    """A result without its name, its place and the time it took."""
    kept = result.model_dump(mode="json", exclude={"run_id", "run_dir", "seconds"})
    if kept["best"]:
        kept["best"]["source_path"] = ""
        kept["best"]["verdict"] |= {"seconds": 0.0, "breakdown": {}}
    for step in kept["steps"]:
        step["verdict"] = ""  # the id of an artefact that holds its seconds
    return kept


def kill_in(
    node: str, server: Any, spec: KernelSpec, options: dict[str, Any], after: str = ""
) -> Path:
    """Start a run in a process of its own, and kill it as soon as ``node`` has begun.

    ``after`` is a text of the log behind which the node is looked for.
    """
    log: Path = options["runs_dir"] / options["run_id"] / "log.jsonl"
    process = server.Process(target=run_graph, args=(spec,), kwargs=options)
    process.start()
    mark = f'"node":"{node}"'
    deadline = time.monotonic() + _PATIENCE_S
    while not (log.exists() and mark in log.read_text().partition(after or "{")[2]):
        assert process.is_alive(), "the run ended before it came to the node"
        assert time.monotonic() < deadline
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    return log.parent


@pytest.mark.parametrize("node", get_args(Node))
def test_a_run_killed_in_any_node_ends_as_if_nothing_had_been(
    node: str, server: Any, tiny: KernelSpec, whole: Any, options: dict[str, Any]
) -> None:
    folder = kill_in(node, server, tiny, options)
    assert not (folder / "result.json").exists()
    with open_run(folder) as (graph, config):
        assert graph.get_state(config).next == (node,)
    answered = Ledger(folder / "ledger.sqlite").calls()

    result = run_graph(tiny, **options)

    assert untimed(result) == untimed(whole.result)
    calls = Ledger(folder / "ledger.sqlite").calls()
    assert calls[: len(answered)] == answered
    assert [call.reply for call in calls] == [call.reply for call in whole.calls]
    events = read_events(folder / "log.jsonl")
    asked = [e for e in events if isinstance(e, AgentAsked) and not e.stored]
    assert len(asked) <= len(calls)  # one fewer if the kill came between answer and event
    assert [e.resumed for e in events if isinstance(e, RunStarted)] == [False, True]
    assert sum(isinstance(e, NodeStarted) and e.node == node for e in events) > 1


def test_a_folder_carried_elsewhere_is_taken_up_there(
    server: Any, tiny: KernelSpec, whole: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    folder = kill_in("structural_optimizer", server, tiny, options)
    elsewhere = tmp_path / "elsewhere" / "killed"
    shutil.copytree(folder, elsewhere)
    shutil.rmtree(folder)
    result = resume_run(elsewhere)
    assert untimed(result) == untimed(whole.result)
    assert result.run_dir == elsewhere
    assert not folder.exists()


def test_one_process_per_run(tiny: KernelSpec, tmp_path: Path) -> None:
    with open_run(tmp_path / "busy"), pytest.raises(RunBusyError, match="another process"):
        run_graph(tiny, executor="emulated", runs_dir=tmp_path, run_id="busy")


def test_the_state_is_small_plain_json(whole: Any) -> None:
    folder = whole.result.run_dir
    serde = JsonPlusSerializer(allowed_msgpack_modules=[])
    with SqliteSaver.from_conn_string(str(folder / CHECKPOINTS)) as saver:
        checkpoints = list(saver.list({"configurable": {"thread_id": folder.name}}))
    assert len(checkpoints) > 20
    for saved in checkpoints:
        values = saved.checkpoint["channel_values"]
        state = {name: value for name, value in values.items() if ":" not in name}
        text = json.dumps(state)
        assert json.loads(text) == state
        assert len(text) < 20_000
        assert serde.loads_typed(serde.dumps_typed(state)) == state
    with contextlib.closing(sqlite3.connect(folder / CHECKPOINTS)) as database:
        (size,) = database.execute("SELECT max(length(checkpoint)) FROM checkpoints").fetchone()
    assert size < 20_000


def test_what_was_verified_is_judged_again_elsewhere(whole: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.result.run_dir, tmp_path / "whole")
    context = LiveContext(runs_dir=str(tmp_path))
    with open_run(folder) as (graph, config):
        state: Any = graph.get_state(config).values
    judging = judge_lineage(state, context, Settings.model_validate(state["settings"]))
    events = []
    while True:
        try:
            events.append(next(judging))
        except StopIteration as end:
            now = end.value
            break
    verified = [step.candidate for step in whole.result.steps if step.status is Status.PASSED]
    assert len(verified) == 3
    before = len(state["steps"])
    assert now["steps"][:before] == state["steps"]
    assert now["counted_from"] == before
    again = Ledger(folder / "ledger.sqlite").steps()[before:]
    assert [step.candidate for step in again] == verified
    assert [step.decision for step in again] == [
        Decision.ACCEPTED,
        Decision.ACCEPTED,
        Decision.REJECTED,
    ]
    assert now["best"]["id"] == state["best"]["id"]
    assert (now["stable"], now["rounds"], now["rounds_left"]) == (False, 0, True)
    assert events


def test_a_finished_run_goes_on_with_a_larger_budget(play: Callable[..., Any], script: Any) -> None:
    played = play(script.everything(), budget=Budget(steps=1))
    assert played.result.reason == "every step of the budget was used"
    more = resume_run(played.result.run_dir, budget=Budget())
    assert more.status is RunStatus.SUCCEEDED
    assert len(more.steps) == 7
