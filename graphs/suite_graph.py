"""The suite graph: many specs side by side, one run each (DESIGN §4).

``plan`` names the members, ``Send`` starts ``make_kernel`` for each of them, ``sum_up`` writes
the result. Members build side by side, as many as ``max_concurrency`` allows; each measures
alone on its GPU, for ``measurement.measure.exclusive`` is a lock between processes.
"""

import os
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Annotated, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import JsonValue
from typing_extensions import TypedDict

from cutegen.events import Event
from cutegen.graphs.context import Context
from cutegen.graphs.suite_process import (
    CONTEXT_FILE,
    Members,
    carry_out,
    job_of,
    keep_context,
    keep_question,
    waits_still,
)
from cutegen.result import RESULT_FILE, RunResult
from cutegen.store import write_atomically
from cutegen.suite import (
    SUITE_FILE,
    MemberEnded,
    MemberTold,
    SuiteMember,
    SuiteResult,
    SuiteStarted,
)

NAME = "cutegen_suite"
MOST_AT_ONCE = 8  # each holds PyTorch, and on a GPU a CUDA context, in memory


class MemberTask(TypedDict):
    """What ``make_kernel`` gets: one spec and the run that is to be made of it."""

    run_id: str
    spec_file: str


def merged(
    old: dict[str, dict[str, JsonValue]], new: dict[str, dict[str, JsonValue]]
) -> dict[str, dict[str, JsonValue]]:
    """Members that come to their ends at the same time."""
    return {**old, **new}


class SuiteInput(TypedDict, total=False):
    """What starts a suite: KernelBench-format files, folders of them, or patterns with ``*``."""

    spec_paths: list[str]


class SuiteState(SuiteInput, total=False):
    """Everything between two nodes of the suite."""

    tasks: list[MemberTask]
    members: Annotated[dict[str, dict[str, JsonValue]], merged]  # SuiteMember by run id
    result: dict[str, JsonValue]  # SuiteResult, once summed up


def build_suite(members: Members | None = None) -> StateGraph[SuiteState, Context, SuiteInput]:
    """The graph, not compiled yet.

    Args:
        members: Where the processes are known; its owner may end them.
    """
    at_work = members or Members()

    def make_kernel(
        state: MemberTask, *, runtime: Runtime[Context]
    ) -> Command[Literal["make_kernel", "sum_up"]]:
        """One run. A person's reply, where it waits for one, takes it to its next question."""
        member = _member(state, runtime, at_work)
        if member.question is not None:
            reply = str(interrupt(member.question.model_dump(mode="json")))
            member = _member(state, runtime, at_work, reply)
            if member.question is not None:
                return Command(goto=Send("make_kernel", state))
        runtime.stream_writer(MemberEnded(member=member).model_dump(mode="json"))
        return Command(
            update={"members": {state["run_id"]: member.model_dump(mode="json")}}, goto="sum_up"
        )

    builder = StateGraph(SuiteState, context_schema=Context, input_schema=SuiteInput)
    builder.add_node("plan", plan)
    builder.add_node("make_kernel", make_kernel)
    builder.add_node("sum_up", sum_up, defer=True)  # once, when no member is at work any more
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan_out, ["make_kernel"])
    builder.add_edge("sum_up", END)
    return builder


def plan(state: SuiteState, *, runtime: Runtime[Context]) -> SuiteState:
    """Find the specs, and name a run for each. The choices of the suite's first start stand."""
    folder = suite_folder(runtime)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CONTEXT_FILE).exists():
        keep_context(folder, runtime.context or Context())
    tasks = name_runs(expand(state.get("spec_paths", [])))
    started = SuiteStarted(
        suite_dir=str(folder.resolve()), members=tuple(task["run_id"] for task in tasks)
    )
    runtime.stream_writer(started.model_dump(mode="json"))
    return {"tasks": tasks, "members": {}}


def suite_folder(runtime: Runtime[Context]) -> Path:
    """The suite's folder: the thread, as Studio has it, names it.

    Raises:
        ValueError: There is no thread.
    """
    info = runtime.execution_info
    if info is None or not info.thread_id:
        raise ValueError("a suite needs a thread: pass config {'configurable': {'thread_id': …}}")
    return Path((runtime.context or Context()).runs_dir) / str(info.thread_id)


def fan_out(state: SuiteState) -> list[Send]:
    """One ``make_kernel`` for each spec."""
    return [Send("make_kernel", task) for task in state["tasks"]]


def sum_up(state: SuiteState, *, runtime: Runtime[Context]) -> SuiteState:
    """Write ``suite.json``."""
    folder = suite_folder(runtime)
    result = SuiteResult.of(folder, ended_members(state))
    write_atomically(folder / SUITE_FILE, result.model_dump_json(indent=2))
    return {"result": result.model_dump(mode="json")}


def ended_members(state: SuiteState) -> list[SuiteMember]:
    """The members that have come to their ends so far, in the order of the plan."""
    known = state.get("members", {})
    return [
        SuiteMember.model_validate(known[task["run_id"]])
        for task in state.get("tasks", [])
        if task["run_id"] in known
    ]


def expand(spec_paths: Sequence[str]) -> list[str]:
    """The files that paths, folders and patterns name, each once, in the order given.

    Raises:
        ValueError: One of them names no file; none is given.
    """
    found: list[str] = []
    for path in spec_paths:
        if has_magic(path):
            files = sorted(glob(path, recursive=True))  # noqa: PTH207 - absolute patterns too
        elif Path(path).is_dir():
            files = sorted(map(str, Path(path).glob("*.py")))
        else:
            files = [path] if Path(path).is_file() else []
        if not files:
            raise ValueError(f"no KernelBench-format file at {path}")
        found += files
    if not found:
        raise ValueError('name the files: input {"spec_paths": ["…/*.py"]}')
    return list(dict.fromkeys(found))


def name_runs(files: Sequence[str]) -> list[MemberTask]:
    """A run for each file, called as the file is; files of one name are numbered."""
    taken: set[str] = set()
    tasks: list[MemberTask] = []
    for file in files:
        stem = "".join(c if c.isalnum() or c in "._-" else "-" for c in Path(file).stem)
        stem = stem.lstrip("._-")[:100] or "spec"
        number, name = 1, stem
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        tasks.append({"run_id": name, "spec_file": str(Path(file).resolve())})
    return tasks


def at_once() -> int:
    """How many members are at work side by side, unless the caller says otherwise."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(MOST_AT_ONCE, cores or 1)


def _member(
    task: MemberTask, runtime: Runtime[Context], at_work: Members, reply: str | None = None
) -> SuiteMember:
    """What became of a task; one whose run has its result already is not begun again."""
    folder = suite_folder(runtime)
    job = job_of(task["run_id"], task["spec_file"], folder, reply)
    if reply is None and (job.run_dir / RESULT_FILE).exists():
        result = RunResult.load(job.run_dir)
        if job.context["executor"] in {"auto", result.executor}:
            return SuiteMember.of_run(task["spec_file"], result)
    if reply is None and (waiting := waits_still(job)) is not None:
        return waiting

    def tell(event: Event) -> None:
        told = MemberTold(run_id=task["run_id"], told=event)
        runtime.stream_writer(told.model_dump(mode="json"))

    member = carry_out(job, tell, at_work)
    if member.question is not None:
        keep_question(job, member)
    return member


graph = build_suite().compile(name=NAME).with_config(max_concurrency=at_once())
