"""Commands that make many kernels: a suite of runs, side by side."""

from collections.abc import Sequence
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
    RepairMode,
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
)
from cutegen.math_mode import MathMode

if TYPE_CHECKING:
    from collections.abc import Generator

    from cutegen.graphs.context import Context
    from cutegen.suite import SuiteEvent, SuiteResult


def add_suite_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    app.command()(suite)


def suite(
    specs: SpecFiles,
    *,
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: ExecutorName = "auto",
    runs_dir: RunsDir = Path("runs"),
    math: Math = MathMode.FP32,
    seed: Seed = 0,
    suite_id: Annotated[
        str | None, typer.Option(help="Name of the suite's folder; one of that name goes on.")
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
    jobs: Jobs = 0,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a kernel for each of many specs, side by side, and sum up.

    Each run is a process of its own, with a budget of its own, and a folder in the suite's. They
    build side by side and measure by turns. A suite that was killed goes on with `cutegen resume`.

    Example: `cutegen suite 'tests/kernelbench/level1/*.py' --steps 4 --jobs 2`
    """
    mode = Mode(as_json, progress=progress)
    with mode.faults_told():
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
        make_suite(mode, specs, context, suite_id, jobs)


def make_suite(
    mode: Mode, specs: Sequence[str], context: "Context", suite_id: str | None, jobs: int
) -> None:
    """Run a suite, show what it came to, and end the command.

    Raises:
        typer.Exit: Always.
    """
    from cutegen.graphs.suite_running import stream_suite

    follow_suite(mode, stream_suite(specs, context, suite_id=suite_id, jobs=jobs))


def follow_suite(mode: Mode, events: "Generator[SuiteEvent, None, SuiteResult]") -> None:
    """Follow a suite to its end, show what it came to, and end the command.

    Raises:
        typer.Exit: Always.
    """
    from cutegen.graphs.suite_following import drain_suite
    from cutegen.report.suite_table import SuiteProgress, show_suite

    with mode.interruptions_told():
        result = drain_suite(events, SuiteProgress(mode.progress).show)
    if mode.as_json:
        mode.print_json(result.model_dump_json())
    else:
        show_suite(mode.answers, result)
    raise typer.Exit(exit_of_suite(result))


def exit_of_suite(result: "SuiteResult") -> Exit:
    """GOOD when every member has a kernel to show; WAITING when a person is asked."""
    if result.waiting:
        return Exit.WAITING
    return Exit.GOOD if result.verified == len(result.members) else Exit.FAILED
