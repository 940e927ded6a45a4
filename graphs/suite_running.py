"""Running a suite from Python."""

import datetime as dt
import secrets
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from cutegen.agents.models.choice import check_agents
from cutegen.agents.models.resolve import DEFAULT_MODEL, resolve_model
from cutegen.execution.resolve import NAMES
from cutegen.graphs.context import Context
from cutegen.graphs.settings import Budget, StabilityPolicy
from cutegen.graphs.suite_following import (
    SUITE_CHECKPOINTS,
    drain_suite,
    follow_suite,
    is_suite,
)
from cutegen.graphs.suite_graph import expand
from cutegen.graphs.suite_process import CONTEXT_FILE, keep_context, kept_context
from cutegen.spec import KernelSpec
from cutegen.store import write_atomically
from cutegen.suite import SuiteEvent, SuiteResult
from cutegen.switches import Profiling, RepairForm, Start

_SPECS = "specs"


def run_suite(
    specs: Iterable[KernelSpec | str | Path],
    *,
    model: str = DEFAULT_MODEL,
    models: Mapping[str, str] | None = None,
    temperature: float | None = None,
    temperatures: Mapping[str, float] | None = None,
    executor: str = "auto",
    budget: Budget | None = None,
    policy: StabilityPolicy | None = None,
    runs_dir: str | Path = "runs",
    suite_id: str | None = None,
    seed: int = 0,
    arch: str = "",
    math_mode: str = "fp32",
    nvcc_gate: bool = True,
    allow_simplify: bool = False,
    profiling: Profiling = "delayed",
    repair: RepairForm = "patch",
    start: Start = "best",
    jobs: int = 0,
    on_event: Callable[[SuiteEvent], None] | None = None,
) -> SuiteResult:
    """Turn many specs into kernels: one run each, side by side, each in its own process.

    Args:
        specs: Specs, KernelBench-format files, folders of them, or patterns such as
            ``level1/*.py``.
        model: The name of a model, as for ``run_graph``; processes share no objects.
        models: Of single agents, in place of ``model``.
        temperature: Of the models that have one.
        temperatures: Of single agents.
        executor: ``auto``, ``cuda`` or ``emulated``.
        budget: Of each run.
        policy: When the structure counts as stable; by kernel class if None.
        runs_dir: Where the suite's folder is made, which holds the folders of its runs.
        suite_id: Name of the suite. One of that name is taken up where it was left, with the
            specs and choices that it was begun with.
        seed: Seeds inputs and fiber order.
        arch: nvcc target; the GPU's own if empty.
        math_mode: Of specs that are read from files, a value of ``MathMode``.
        nvcc_gate: On the emulator, also require nvcc, where it is found.
        allow_simplify: A repair may lower the structure.
        profiling: For ablations, as are the next two: see ``run_graph``.
        repair: In edits, or as whole files.
        start: The kernel that each step starts from.
        jobs: How many runs are at work side by side; by the number of cores if 0. Measurements
            take turns on a GPU however many there are.
        on_event: Called with each event, in this thread.

    Raises:
        ValueError: No file is named, or a choice is none.
        ModelError: A model cannot be used here.
        RunBusyError: Another process is at work on this suite.
    """
    context = Context(
        model=model,
        models=dict(models or {}),
        temperature=temperature,
        temperatures=dict(temperatures or {}),
        executor=executor,
        arch=arch,
        seed=seed,
        runs_dir=str(runs_dir),
        math_mode=math_mode,
        nvcc_gate=nvcc_gate,
        allow_simplify=allow_simplify,
        profiling=profiling,
        repair=repair,
        start=start,
        **(budget or Budget()).model_dump(),
        **(policy.model_dump() if policy else {}),
    )
    return drain_suite(stream_suite(specs, context, suite_id=suite_id, jobs=jobs), on_event)


def resume_suite(
    suite_dir: str | Path,
    *,
    executor: str | None = None,
    jobs: int = 0,
    on_event: Callable[[SuiteEvent], None] | None = None,
) -> SuiteResult:
    """Take up a suite: killed, with members that broke, or emulated and now on a GPU.

    With another executor, every run is taken up as ``resume_run`` does.

    Raises:
        FileNotFoundError: This is no suite's folder.
        RunBusyError: Another process is at work on this suite.
    """
    return drain_suite(stream_resumed_suite(suite_dir, executor=executor, jobs=jobs), on_event)


def stream_suite(
    specs: Iterable[KernelSpec | str | Path],
    context: Context,
    *,
    suite_id: str | None = None,
    jobs: int = 0,
) -> Generator[SuiteEvent, None, SuiteResult]:
    """``run_suite`` as a generator of its events, with the choices in a context."""
    name = suite_id or f"{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S}-suite-{secrets.token_hex(2)}"
    folder = Path(context.runs_dir) / name
    if not (folder / CONTEXT_FILE).exists():  # what cannot be used is said before anything is made
        _refuse_early(context, folder)
    paths = [
        _kept_spec(folder, spec) if isinstance(spec, KernelSpec) else str(spec) for spec in specs
    ]
    expand(paths)
    return (yield from follow_suite(folder, context, {"spec_paths": paths}, jobs))


def stream_resumed_suite(
    suite_dir: str | Path, *, executor: str | None = None, jobs: int = 0
) -> Generator[SuiteEvent, None, SuiteResult]:
    """``resume_suite`` as a generator of its events."""
    folder = Path(suite_dir).resolve()
    if not is_suite(folder):
        raise FileNotFoundError(f"{suite_dir} is no suite's folder: it has no {SUITE_CHECKPOINTS}")
    context = kept_context(folder)
    if executor is not None:
        context = replace(context, executor=executor)
        _refuse_early(context, folder)
        keep_context(folder, context)
    context = replace(context, runs_dir=str(folder.parent))
    return (yield from follow_suite(folder, context, None, jobs))


def _refuse_early(context: Context, folder: Path) -> None:
    """Say at once what would go wrong in every member."""
    context.check()
    check_agents(context.models)
    check_agents(context.temperatures)
    if context.executor not in NAMES:
        raise ValueError(f"unknown executor {context.executor!r}: choose one of {', '.join(NAMES)}")
    for name in sorted(context.named_models):
        resolve_model(name, folder)


def _kept_spec(folder: Path, spec: KernelSpec) -> str:
    """The file of a spec that came as an object."""
    file = folder / _SPECS / f"{spec.name}-{spec.id[:8]}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, spec.model_dump_json())
    return str(file)
