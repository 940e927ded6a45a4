"""Commands that make a kernel: begin a run, and take one up again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutegen.answering import Exit, Mode
from cutegen.cli_options import (
    Arch,
    AsJson,
    Dollars,
    ExecutorName,
    Jobs,
    Math,
    ModelNames,
    ProfilingMode,
    Progress,
    Record,
    RepairMode,
    Run,
    RunsDir,
    Seed,
    Simplify,
    SpecFiles,
    StartMode,
    Steps,
    Target,
    Temperatures,
    Tokens,
    WallTime,
    budget_of,
    context_of,
    run_folder,
    temperatures_of,
)
from cutegen.cli_suite import follow_suite, make_suite
from cutegen.math_mode import MathMode

if TYPE_CHECKING:
    from collections.abc import Generator

    from cutegen.events import Event
    from cutegen.result import RunResult

_STATUSES = {Exit.USAGE: "FAILED", Exit.ENVIRONMENT: "STOPPED"}  # as RunStatus has them


def add_run_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    app.command()(run)
    app.command()(resume)


def run(
    specs: SpecFiles,
    *,
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: ExecutorName = "auto",
    runs_dir: RunsDir = Path("runs"),
    math: Math = MathMode.FP32,
    seed: Seed = 0,
    run_id: Annotated[
        str | None,
        typer.Option(help="Name of the folder of the run (or suite); one of that name goes on."),
    ] = None,
    arch: Arch = "",
    steps: Steps = None,
    wall_s: WallTime = None,
    tokens: Tokens = None,
    usd: Dollars = None,
    target: Target = None,
    allow_simplify: Simplify = False,
    profiling: ProfilingMode = "delayed",
    repair: RepairMode = "patch",
    start: StartMode = "best",
    record: Record = None,
    jobs: Jobs = 0,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a kernel for a spec: write it, verify it, make it faster.

    Several specs are a suite: one run each, side by side (`cutegen suite --help`).

    With `--model human` it ends (exit code 4) wherever a model would be asked, and says in which
    file the prompt lies; go on with `cutegen resume RUN --reply FILE`.

    Examples: `cutegen run tests/kernelbench/level1/25_Swish.py`,
    `cutegen run 'level1/2*.py' --model openai:gpt-5 --usd 2`
    """
    mode = Mode(as_json, _STATUSES, progress=progress)
    with mode.faults_told():
        from cutegen.graphs.running import stream_context
        from cutegen.graphs.suite_graph import expand
        from cutegen.spec import KernelSpec

        context = context_of(
            model=model,
            temperature=temperature,
            executor=executor,
            runs_dir=runs_dir,
            math=math,
            seed=seed,
            arch=arch,
            budget=budget_of(steps, wall_s, tokens, usd, target),
            allow_simplify=allow_simplify,
            profiling=profiling,
            repair=repair,
            start=start,
        )
        files = expand(specs)
        if len(files) > 1:
            if record is not None:
                raise ValueError("--record takes the answers of one run: name one spec")
            make_suite(mode, files, context, run_id, jobs)
        spec = KernelSpec.from_kernelbench(files[0], math_mode=math, seed=seed)
        _follow(mode, stream_context(spec, context, run_id, record=record))


def resume(
    run: Run,
    *,
    runs_dir: RunsDir = Path("runs"),
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: Annotated[str | None, typer.Option(help="Another executor than the run's.")] = None,
    steps: Steps = None,
    wall_s: WallTime = None,
    tokens: Tokens = None,
    usd: Dollars = None,
    target: Target = None,
    reply: Annotated[
        Path | None,
        typer.Option(
            help="The answer to the prompt that a run with `--model human` waits at; - reads it "
            "from standard input.",
            allow_dash=True,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    record: Record = None,
    jobs: Jobs = 0,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run: killed, emulated and now on a GPU, or waiting for a person's reply.

    A suite goes on too: what was killed, broke or waits, and with `--executor` every run of it.

    Example: `cutegen resume runs/20260101-swish --executor cuda`
    """
    mode = Mode(as_json, _STATUSES, progress=progress)
    with mode.faults_told():
        from cutegen.agents.models.choice import by_agent
        from cutegen.graphs.resuming import stream_resumed
        from cutegen.graphs.suite_following import is_suite
        from cutegen.graphs.suite_running import stream_resumed_suite

        folder = run_folder(run, runs_dir)
        if is_suite(folder):
            chosen = (model, temperature, steps, wall_s, tokens, usd, target, reply, record)
            if any(choice is not None for choice in chosen):
                raise ValueError(
                    f"{folder} is a suite, whose runs keep their models and budgets: resume one "
                    "of the runs in it, or the suite with --executor and --jobs only"
                )
            follow_suite(mode, stream_resumed_suite(folder, executor=executor, jobs=jobs))
        # the run's own budget, unless another one is asked for
        limits = (steps, wall_s, tokens, usd, target)
        budget = None if all(limit is None for limit in limits) else budget_of(*limits)
        common, models = by_agent(model or ())
        warmth, temperatures = temperatures_of(temperature or ())
        text = None if reply is None else _read(reply)
        _follow(
            mode,
            stream_resumed(
                folder,
                model=common or None,
                models=models or None,
                temperature=warmth,
                temperatures=temperatures or None,
                executor=executor,
                budget=budget,
                reply=text,
                record=record,
            ),
        )


def _read(file: Path) -> str:
    return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")


def _follow(mode: Mode, events: "Generator[Event, None, RunResult]") -> None:
    from cutegen.graphs.following import drain
    from cutegen.report.terminal import RunProgress, show_result

    with mode.interruptions_told(), RunProgress(mode.progress) as progress:
        result = drain(events, progress.show)
    if mode.as_json:
        mode.print_json(result.model_dump_json())
    else:
        show_result(mode.answers, result)
    raise typer.Exit(exit_of_run(result))


def exit_of_run(result: "RunResult") -> Exit:
    """GOOD for a run that has a kernel to show, even one that was stopped."""
    from cutegen.result import RunStatus

    match result.status:
        case RunStatus.SUCCEEDED:
            return Exit.GOOD
        case RunStatus.WAITING:
            return Exit.WAITING
        case RunStatus.STOPPED:
            return Exit.ENVIRONMENT if result.best is None else Exit.GOOD
    return Exit.FAILED
