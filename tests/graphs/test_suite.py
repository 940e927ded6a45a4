"""Suites: many specs side by side, summed up; killed and taken up again; a person asked."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from syrupy.assertion import SnapshotAssertion

from cutegen.faults import RunBusyError
from cutegen.graphs.context import Context
from cutegen.graphs.resuming import resume_run
from cutegen.graphs.settings import Budget
from cutegen.graphs.suite_graph import SuiteInput, build_suite, expand, graph, name_runs
from cutegen.graphs.suite_running import resume_suite, run_suite
from cutegen.result import RunResult
from cutegen.spec import KernelSpec
from cutegen.suite import (
    MemberEnded,
    MemberStatus,
    MemberTold,
    SuiteEvent,
    SuiteMember,
    SuiteResult,
    SuiteStarted,
)

SWISH = Path(__file__).parents[1] / "kernelbench" / "custom" / "small_swish.py"
KERNEL = (Path(__file__).parent / "kernels" / "swish.cu").read_text()
FIRST = f"INTENT: one element per thread\n```cuda\n{KERNEL}```\n"

needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


def member(run_id: str, status: MemberStatus, speedup: float | None = None) -> SuiteMember:
    why = "" if speedup else "nobody measured it"
    bare = SuiteMember.without_result(f"{run_id}.py", Path("runs/s") / run_id, status, "because")
    verified = status is MemberStatus.SUCCEEDED
    changed = {"speedup": speedup, "speedup_reason": why, "verified": verified}
    return bare.model_copy(update=changed)


def test_the_sum_names_what_is_missing() -> None:
    result = SuiteResult.of(
        Path("runs/s"),
        [
            member("fast", MemberStatus.SUCCEEDED, 4.0),
            member("slow", MemberStatus.SUCCEEDED, 0.25),
            member("even", MemberStatus.SUCCEEDED, 8.0),
            member("emulated", MemberStatus.SUCCEEDED),
            member("odd", MemberStatus.REFUSED),
        ],
    )
    assert result.counts == {"SUCCEEDED": 4, "REFUSED": 1}
    assert (result.verified, result.measured, result.faster) == (4, 3, 2)
    assert result.geomean_speedup == pytest.approx(2.0)
    assert result.unmeasured == {"emulated": "nobody measured it", "odd": "nobody measured it"}
    assert SuiteResult.of(Path("s"), []).geomean_speedup is None


def test_files_folders_and_patterns_become_runs(tmp_path: Path) -> None:
    for name in ("a/one.py", "a/two.py", "b/one.py", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = expand([str(tmp_path / "a" / "two.py"), str(tmp_path / "*" / "o*.py"), f"{tmp_path}/b"])
    assert [str(Path(file).relative_to(tmp_path)) for file in found] == [
        "a/two.py",
        "a/one.py",
        "b/one.py",  # once, though two of the three name it
    ]
    assert [task["run_id"] for task in name_runs(found)] == ["two", "one", "one-2"]
    with pytest.raises(ValueError, match=r"no KernelBench-format file at absent/\*\.py"):
        expand(["absent/*.py"])


def test_the_drawing(snapshot: SnapshotAssertion) -> None:
    assert graph.get_graph().draw_mermaid() == snapshot


def test_choices_that_are_none_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for wrong in ({"model": "gpt9"}, {"executor": "tpu"}, {"budget": Budget(steps=-1)}):
        with pytest.raises(ValueError, match=r"gpt9|tpu|steps"):
            run_suite([SWISH], runs_dir=runs, **wrong)  # type: ignore[arg-type]
    assert not runs.exists()


@needs_gxx
def test_a_suite_goes_through_what_its_members_come_to(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.write_text("import torch\n")
    recording = tmp_path / "recording.jsonl"
    recording.write_text(json.dumps({"agent": "synthesizer", "reply": FIRST}) + "\n")
    told: list[SuiteEvent] = []
    result = run_suite(
        [SWISH, empty, KernelSpec.from_kernelbench(SWISH, name="again")],
        model=f"replay:{recording}",
        executor="emulated",
        nvcc_gate=False,
        budget=Budget(steps=0),
        runs_dir=tmp_path / "runs",
        suite_id="mine",
        jobs=2,
        on_event=told.append,
    )
    swish, refused, again = result.members
    assert swish.status is again.status is MemberStatus.SUCCEEDED
    assert refused.status is MemberStatus.REFUSED
    assert "defines no class Model" in refused.reason
    assert result.counts == {"SUCCEEDED": 2, "REFUSED": 1}
    assert result.geomean_speedup is None
    assert "emulator" in result.unmeasured["small_swish"]
    assert SuiteResult.load(tmp_path / "runs" / "mine") == result
    assert RunResult.load(swish.run_dir).best is not None

    assert isinstance(told[0], SuiteStarted)
    assert told[0].members == ("small_swish", "empty", again.run_id)
    nodes = [event.told.event for event in told if isinstance(event, MemberTold)]
    assert {"built", "verified", "measured", "finished"} <= set(nodes)
    assert sum(isinstance(event, MemberEnded) for event in told) == 3

    with FileLock(tmp_path / "runs" / "mine" / "run.lock"), pytest.raises(RunBusyError):
        resume_suite(tmp_path / "runs" / "mine")


@needs_gxx
def test_a_suite_that_was_killed_goes_on(tmp_path: Path) -> None:
    call = (
        "import sys; from cutegen import run_suite, Budget; run_suite([sys.argv[1]], model='human',"
        " executor='emulated', nvcc_gate=False, budget=Budget(steps=0), runs_dir=sys.argv[2],"
        " suite_id='killed', on_event=lambda event: print(event.event, flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", call, str(SWISH), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "member-told\n":
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    folder = tmp_path / "killed"
    waiting = resume_suite(folder)
    (asked,) = waiting.waiting
    assert asked.question is not None
    assert "small_swish" in asked.question.prompt
    assert not (folder / "suite.json").exists()

    resume_run(asked.run_dir, reply=FIRST)
    assert resume_suite(folder).counts == {"SUCCEEDED": 1}


@needs_gxx
def test_a_person_answers_inside_the_suite_as_in_studio(tmp_path: Path) -> None:
    suite = build_suite().compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "asked"}}
    context = Context(
        model="human", executor="emulated", nvcc_gate=False, steps=0, runs_dir=str(tmp_path)
    )
    start: SuiteInput = {"spec_paths": [str(SWISH)]}
    answers: list[SuiteInput | Command[str]] = [start]
    answers += [Command(resume="not a kernel"), Command(resume=FIRST)]
    for answer in answers:
        assert not suite.get_state(thread).values.get("result")
        suite.invoke(answer, thread, context=context)
    assert suite.get_state(thread).values["result"]["counts"] == {"SUCCEEDED": 1}
    assert len(list((tmp_path / "asked" / "small_swish" / "questions").iterdir())) == 2
