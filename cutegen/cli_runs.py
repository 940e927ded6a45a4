"""The part of the command line that looks at finished runs and ships their kernels."""

import json
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cutegen.answering import Mode
from cutegen.cli_options import AsJson, Run, RunsDir, run_folder
from cutegen.export import Form

runs_app = typer.Typer(help="List, show and prune runs.", no_args_is_help=True)


class Pruned(StrEnum):
    """Which runs are to go."""

    FAILED = "failed"  # ended without a verified kernel
    UNFINISHED = "unfinished"  # begun and never ended; it could still be resumed
    ALL = "all"


def add_runs_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    app.command("export")(export_run)
    app.add_typer(runs_app, name="runs")


def export_run(
    run: Run,
    *,
    to: Annotated[Path, typer.Option("--to", help="A new folder.")],
    form: Annotated[Form, typer.Option("--as", help="What to ship.")] = Form.TORCH,
    arch: Annotated[str, typer.Option(help="The GPU to build for; the run's own if empty.")] = "",
    cpu: Annotated[
        bool, typer.Option("--cpu", help="Ship an emulated build too: slow, for CPU tensors.")
    ] = False,
    runs_dir: RunsDir = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Ship the best kernel of a run: a torch package, a KernelBench ModelNew, or bare source.

    Example: `cutegen export runs/20260101-swish --to shipped --as torch`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.export import export, shipment_of
        from cutegen.result import RunResult
        from cutegen.toolchain.emulated import EmulatorToolchain

        shipment = shipment_of(
            RunResult.load(run_folder(run, runs_dir)),
            arch=arch,
            cpu=EmulatorToolchain() if cpu else None,
            nvcc=form is Form.TORCH,
        )
        written = export(shipment, to, form)
    if mode.as_json:
        answer = {"path": str(written), "arch": shipment.arch, "built": sorted(shipment.libraries)}
        mode.print_json(json.dumps(answer))
        return
    mode.answers.print(f"{written}", markup=False, highlight=False, soft_wrap=True)
    if form is Form.TORCH:
        built = ", ".join(sorted(shipment.libraries)) or "nothing yet: nvcc builds at first call"
        mode.progress.print(f"built for {built}; install it with `pip install {to}`", markup=False)


@runs_app.command("list")
def list_runs(runs_dir: RunsDir = Path("runs"), as_json: AsJson = False) -> None:
    """Every run in a folder, newest first; those of a suite as SUITE/RUN.

    Example: `cutegen runs list --runs-dir runs --json`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.report.listing import find_runs, show_runs

        found = find_runs(runs_dir)
        if mode.as_json:
            mode.print_json(json.dumps({"runs": [run.model_dump(mode="json") for run in found]}))
        else:
            show_runs(mode.answers, runs_dir, found)


@runs_app.command("show")
def show_run(run: Run, runs_dir: RunsDir = Path("runs"), as_json: AsJson = False) -> None:
    """What a finished run, or suite, came to.

    Example: `cutegen runs show 20260101-swish`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.report.suite_table import show_suite
        from cutegen.report.terminal import show_result
        from cutegen.result import RunResult
        from cutegen.suite import SUITE_FILE, SuiteResult

        folder = run_folder(run, runs_dir)
        if (folder / SUITE_FILE).exists():
            suite = SuiteResult.load(folder)
            if mode.as_json:
                mode.print_json(suite.model_dump_json())
            else:
                show_suite(mode.answers, suite)
            return
        result = RunResult.load(folder)
        if mode.as_json:
            mode.print_json(result.model_dump_json())
        else:
            show_result(mode.answers, result)


@runs_app.command("prune")
def prune_runs(
    which: Annotated[Pruned, typer.Argument(help="Which runs to delete.")] = Pruned.FAILED,
    *,
    runs_dir: RunsDir = Path("runs"),
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it they are listed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete run folders; without `--yes` only say which.

    Example: `cutegen runs prune failed --yes`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.report.listing import RunState, find_runs, show_runs

        states = {
            Pruned.FAILED: {RunState.FAILED},
            Pruned.UNFINISHED: {RunState.UNFINISHED},
            Pruned.ALL: set(RunState),
        }[which]
        doomed = [run for run in find_runs(runs_dir) if run.state in states]
        if yes:
            for run in doomed:
                shutil.rmtree(run.folder)
        if mode.as_json:
            answer = {"deleted": yes, "runs": [run.run_id for run in doomed]}
            mode.print_json(json.dumps(answer))
            return
        show_runs(mode.answers, runs_dir, doomed)
        if doomed:
            done = "deleted" if yes else "would be deleted: say --yes"
            mode.progress.print(f"{len(doomed)} {done}", markup=False)
