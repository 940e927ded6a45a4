"""A person as the model: the run waits at each prompt, and goes on with the reply."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from test_durability import untimed

from cutegen.events import AgentWaits, Event
from cutegen.graphs.context import Context
from cutegen.graphs.kernel_graph import build_graph
from cutegen.graphs.resuming import resume_run
from cutegen.graphs.running import run_graph
from cutegen.result import RunResult, RunStatus
from cutegen.spec import KernelSpec

SPEC = Path(__file__).parents[1] / "kernelbench" / "custom" / "small_swish.py"


@pytest.fixture
def options(tiny: KernelSpec, tmp_path: Path) -> dict[str, Any]:
    return {
        "spec": tiny,
        "executor": "emulated",
        "nvcc_gate": False,
        "runs_dir": tmp_path / "runs",
        "run_id": "asked",
    }


def answer_all(waiting: RunResult, replies: Iterable[tuple[str, str]], **more: Any) -> RunResult:
    for agent, reply in replies:
        assert waiting.status is RunStatus.WAITING, waiting.reason
        assert waiting.question is not None
        assert waiting.question.agent == agent
        assert waiting.question.prompt_file.read_text().strip() == waiting.question.prompt
        waiting = resume_run(waiting.run_dir, reply=reply, **more)
    return waiting


def test_a_run_driven_by_replies_is_the_run_of_a_model(
    whole: Any, script: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    recording = tmp_path / "recorded.jsonl"
    events: list[Event] = []
    waiting = run_graph(**options, model="human", record=recording, on_event=events.append)
    assert recording.read_text() == ""
    assert isinstance(events[-1], AgentWaits)
    assert not (waiting.run_dir / "result.json").exists()

    result = answer_all(waiting, script.everything(), record=recording)

    assert result.status is RunStatus.SUCCEEDED
    assert result.model == "human"
    assert [s.decision for s in result.steps] == [s.decision for s in whole.result.steps]
    assert result.best is not None
    assert result.best.id == whole.result.best.id

    # the recording has the prompts: it replays to the same run, and to no other
    again = run_graph(**options | {"run_id": "again"}, model=f"replay:{recording}")
    assert again.status is RunStatus.SUCCEEDED, again.reason
    assert untimed(again)["steps"] == untimed(result)["steps"]
    other = KernelSpec.from_callable(torch.sigmoid, [torch.randn(8, 67)], name="other")
    changed = run_graph(**options | {"run_id": "other", "spec": other}, model=f"replay:{recording}")
    assert changed.status is RunStatus.STOPPED
    assert "call 1" in changed.reason
    assert "-## The function: tiny" in changed.reason
    assert "+## The function: other" in changed.reason


def test_a_reply_that_cannot_be_used_is_asked_for_again(
    script: Any, options: dict[str, Any]
) -> None:
    waiting = run_graph(**options, model="human")
    first = waiting.question
    waiting = resume_run(waiting.run_dir, reply="I would rather not.")
    second = waiting.question
    assert first is not None
    assert second is not None
    assert second.prompt.startswith(first.prompt)
    assert "Your reply could not be used" in second.prompt
    assert (first.prompt_file.name, second.prompt_file.name) == (
        "001-synthesizer.md",
        "002-synthesizer.md",
    )
    # the same answer twice: the step is lost, and another first kernel is asked for
    waiting = resume_run(waiting.run_dir, reply="I would rather not.")
    third = waiting.question
    assert third is not None, waiting.reason
    assert "Your earlier reply" not in third.prompt
    waiting = resume_run(waiting.run_dir, reply=script.first()[1])
    assert waiting.question is not None
    assert waiting.question.agent == "structural_optimizer"


def test_a_waiting_run_can_be_asked_where_it_waits(script: Any, options: dict[str, Any]) -> None:
    waiting = run_graph(**options, model="human")
    assert resume_run(waiting.run_dir).question == waiting.question
    assert run_graph(**options, model="human").question == waiting.question
    finished = resume_run(waiting.run_dir, reply=script.unsupported("sort", "no idea")[1])
    assert finished.status is RunStatus.UNSUPPORTED
    with pytest.raises(ValueError, match="waits for no reply"):
        resume_run(waiting.run_dir, reply="late")


def test_another_model_takes_a_waiting_run_over(everything: str, options: dict[str, Any]) -> None:
    waiting = run_graph(**options, model="human")
    result = resume_run(waiting.run_dir, model=everything)
    assert result.status is RunStatus.SUCCEEDED


def test_a_notebook_answers_the_interrupts(script: Any, tmp_path: Path) -> None:
    graph = build_graph().compile(checkpointer=InMemorySaver())
    context = Context(
        model="human", executor="emulated", nvcc_gate=False, runs_dir=str(tmp_path), steps=0
    )
    config: Any = {"configurable": {"thread_id": "notebook"}}
    state: Any = graph.invoke({"spec_path": str(SPEC)}, config, context=context)
    (asked,) = state["__interrupt__"]
    assert asked.value["agent"] == "synthesizer"
    assert "## The function: small_swish" in asked.value["prompt"]
    state = graph.invoke(Command(resume="not a kernel"), config, context=context)
    (asked,) = state["__interrupt__"]
    assert "could not be used" in asked.value["prompt"]
    resume: Any = Command(resume={"reply": script.first()[1]})  # as a form sends it
    state = graph.invoke(resume, config, context=context)
    assert state["status"] == "SUCCEEDED"
    assert json.loads((tmp_path / "notebook" / "result.json").read_text())["model_calls"] == 2
