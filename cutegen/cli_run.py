"""Commands that make a kernel: begin a run, and take one up again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutegen.answering import Exit, Mode
from cutegen.cli_options import (
    AsJson,
    Dollars,
    ExecutorName,
    Math,
    ModelNames,
    ProfilingMode,
    Progress,
    Record,
    RepairMode,
    Run,
    RunsDir,
    Seed,
    SpecFile,
    StartMode,
    Steps,
    Temperatures,
    Tokens,
    WallTime,
    budget_of,
    run_folder,
    temperatures_of,
)
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
    spec: SpecFile,
    *,
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: ExecutorName = "auto",
    runs_dir: RunsDir = Path("runs"),
    math: Math = MathMode.FP32,
    seed: Seed = 0,
    run_id: Annotated[str | None, typer.Option(help="Name of the run folder.")] = None,
    arch: Annotated[
        str, typer.Option(help="nvcc target, such as sm_90a; the GPU's own if empty.")
    ] = "",
    steps: Steps = None,
    wall_s: WallTime = None,
    tokens: Tokens = None,
    usd: Dollars = None,
    allow_simplify: Annotated[
        bool, typer.Option(help="A repair may give up structure, such as stages or tensor cores.")
    ] = False,
    profiling: ProfilingMode = "delayed",
    repair: RepairMode = "patch",
    start: StartMode = "best",
    record: Record = None,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a kernel for a spec: write it, verify it, make it faster.

    With `--model human` it ends (exit code 4) wherever a model would be asked, and says in which
    file the prompt lies; go on with `cutegen resume RUN --reply FILE`.

    Example: `cutegen run tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json, _STATUSES, progress=progress)
    with mode.faults_told():
        from cutegen.agents.models.choice import by_agent
        from cutegen.agents.models.resolve import DEFAULT_MODEL
        from cutegen.graphs.running import stream_graph
        from cutegen.spec import KernelSpec

        common, models = by_agent(model or ())
        warmth, temperatures = temperatures_of(temperature or ())
        _follow(
            mode,
            stream_graph(
                KernelSpec.from_kernelbench(spec, math_mode=math, seed=seed),
                model=common or DEFAULT_MODEL,
                models=models,
                temperature=warmth,
                temperatures=temperatures,
                executor=executor,
                budget=budget_of(steps, wall_s, tokens, usd),
                runs_dir=runs_dir,
                run_id=run_id,
                seed=seed,
                arch=arch,
                allow_simplify=allow_simplify,
                profiling=profiling,
                repair=repair,
                start=start,
                record=record,
            ),
        )


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
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run: killed, emulated and now on a GPU, or waiting for a person's reply.

    Example: `cutegen resume runs/20260101-swish --executor cuda`
    """
    mode = Mode(as_json, _STATUSES, progress=progress)
    with mode.faults_told():
        from cutegen.agents.models.choice import by_agent
        from cutegen.graphs.resuming import stream_resumed

        # the run's own budget, unless another one is asked for
        limits = (steps, wall_s, tokens, usd)
        budget = None if all(limit is None for limit in limits) else budget_of(*limits)
        common, models = by_agent(model or ())
        warmth, temperatures = temperatures_of(temperature or ())
        folder = run_folder(run, runs_dir)
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

    result = drain(events, RunProgress(mode.progress).show)
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
