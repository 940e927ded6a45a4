"""Running the graph from Python."""

import asyncio
import datetime as dt
import re
import secrets
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, cast

from cutegen.agents.ask import Chat
from cutegen.agents.models.resolve import DEFAULT_MODEL, resolve_model
from cutegen.events import Event
from cutegen.execution.protocol import Executor
from cutegen.graphs.context import Context
from cutegen.graphs.following import drain, follow, open_run, resumed
from cutegen.graphs.live_context import LiveContext, name_of
from cutegen.graphs.recording import recorded
from cutegen.graphs.settings import Budget, StabilityPolicy
from cutegen.graphs.start import settle, start_run
from cutegen.graphs.state import State
from cutegen.graphs.waiting import finished_or_waiting
from cutegen.result import SPEC_FILE, RunResult
from cutegen.spec import KernelSpec
from cutegen.switches import Profiling, RepairForm, Start


def run_graph(
    spec: KernelSpec | str | Path,
    *,
    model: str | Chat = DEFAULT_MODEL,
    models: Mapping[str, str] | None = None,
    temperature: float | None = None,
    temperatures: Mapping[str, float] | None = None,
    executor: str | Executor = "auto",
    budget: Budget | None = None,
    policy: StabilityPolicy | None = None,
    runs_dir: str | Path = "runs",
    run_id: str | None = None,
    seed: int = 0,
    arch: str = "",
    nvcc_gate: bool = True,
    allow_simplify: bool = False,
    profiling: Profiling = "delayed",
    repair: RepairForm = "patch",
    start: Start = "best",
    record: str | Path | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunResult:
    """Turn a spec into a verified kernel, and make it faster.

    Args:
        spec: A spec, or the path of a KernelBench-format file.
        model: ``playbook``, ``openai:NAME``, ``human``, ``replay:FILE``, or an object with
            ``invoke``.
        models: Of single agents, in place of ``model``.
        temperature: Of the models that have one; their own if None.
        temperatures: Of single agents, in place of ``temperature``.
        executor: ``auto``, ``cuda``, ``emulated``, or an executor.
        budget: How much may be tried and spent.
        policy: When the structure counts as stable; by kernel class if None.
        runs_dir: Where the run's folder is made.
        run_id: Name of the run. A run of that name is taken up where it was left; if it has
            finished, its result is returned.
        seed: Seeds inputs and fiber order.
        arch: nvcc target, such as ``sm_90a``; the GPU's own if empty.
        nvcc_gate: On the emulator, also require nvcc, where it is found, to build the kernel.
        allow_simplify: A repair may lower the structure: fewer stages, scalar copies.
        profiling: When the tuner sees a profile: ``delayed`` until the structure is stable,
            ``immediate`` from the first verified kernel on, or ``never``. This and the next two
            are for ablations.
        repair: ``patch``, or ``rewrite``: a repairer sends the whole file.
        start: ``best``, or ``last``: the verified kernel that each step starts from.
        record: Where to write the model's answers, for ``replay:FILE``; also when the run waits
            or is interrupted.
        on_event: Called with each event, in this thread.

    Raises:
        SpecError: The reference is refused.
        EnvironmentUnfitError: The executor asked for cannot be used here.
        ModelError: The model cannot be used here.
        ValueError: The model's or run's name is none, or the run is of another spec.
        RunBusyError: Another process is at work on this run.
    """
    events = stream_graph(
        spec,
        model=model,
        models=models,
        temperature=temperature,
        temperatures=temperatures,
        executor=executor,
        budget=budget,
        policy=policy,
        runs_dir=runs_dir,
        run_id=run_id,
        seed=seed,
        arch=arch,
        nvcc_gate=nvcc_gate,
        allow_simplify=allow_simplify,
        profiling=profiling,
        repair=repair,
        start=start,
        record=record,
    )
    return drain(events, on_event)


async def arun_graph(spec: KernelSpec | str | Path, **options: Any) -> RunResult:  # noqa: ANN401 - run_graph's own
    """``run_graph`` in a thread, for callers with an event loop; takes the same options.

    Cancelling it does not end the thread: give the budget a wall time instead.
    """
    return await asyncio.to_thread(run_graph, spec, **options)


def stream_graph(
    spec: KernelSpec | str | Path,
    *,
    model: str | Chat = DEFAULT_MODEL,
    models: Mapping[str, str] | None = None,
    temperature: float | None = None,
    temperatures: Mapping[str, float] | None = None,
    executor: str | Executor = "auto",
    budget: Budget | None = None,
    policy: StabilityPolicy | None = None,
    runs_dir: str | Path = "runs",
    run_id: str | None = None,
    seed: int = 0,
    arch: str = "",
    nvcc_gate: bool = True,
    allow_simplify: bool = False,
    profiling: Profiling = "delayed",
    repair: RepairForm = "patch",
    start: Start = "best",
    record: str | Path | None = None,
) -> Generator[Event, None, RunResult]:
    """``run_graph`` as a generator of its events, whose return value is the result."""
    context = LiveContext(
        model=name_of(model),
        models=dict(models or {}),
        temperature=temperature,
        temperatures=dict(temperatures or {}),
        executor=name_of(executor),
        arch=arch,
        seed=seed,
        runs_dir=str(runs_dir),
        nvcc_gate=nvcc_gate,
        allow_simplify=allow_simplify,
        profiling=profiling,
        repair=repair,
        start=start,
        live_chat=None if isinstance(model, str) else model,
        live_executor=None if isinstance(executor, str) else executor,
        **(budget or Budget()).model_dump(),
        **(policy.model_dump() if policy else {}),
    )
    if not isinstance(spec, KernelSpec):
        spec = KernelSpec.from_kernelbench(spec, seed=seed)
    return (yield from stream_context(spec, context, run_id, record=record))


def stream_context(
    spec: KernelSpec,
    context: Context,
    run_id: str | None = None,
    *,
    record: str | Path | None = None,
) -> Generator[Event, None, RunResult]:
    """``stream_graph`` with the choices in a context."""
    run_id = run_id or new_run_id(spec.name)
    folder = Path(context.runs_dir) / run_id
    if not folder.exists():  # what cannot be used is said before anything is made
        settle(spec, context)
        for name in sorted(context.named_models):
            resolve_model(name, folder)
    with open_run(folder) as (graph, config), recorded(folder, record):
        state = start_run(context, run_id, spec=spec)
        snapshot = graph.get_state(config)
        if snapshot.next:
            yield resumed(state | cast("State", snapshot.values), context)
            yield from follow(graph, None, config, context)
        elif not snapshot.values:
            yield from follow(graph, {"spec_path": str(folder / SPEC_FILE)}, config, context)
        return (yield from finished_or_waiting(graph.get_state(config), state, context))


def new_run_id(name: str) -> str:
    """A run id that sorts by time and tells the spec's name."""
    now = dt.datetime.now(dt.UTC).strftime("%Y%m%d-%H%M%S")
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return f"{now}-{plain}-{secrets.token_hex(2)}"
