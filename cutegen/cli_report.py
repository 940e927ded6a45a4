"""The part of the command line that writes reports."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cutegen.answering import Mode
from cutegen.cli_options import AsJson, RunsDir, run_folder


def add_report_command(app: typer.Typer) -> None:
    """Give ``app`` the command of this module."""
    app.command("report")(report)


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run folders, runs' names in --runs-dir, or a folder full of runs.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The HTML file. By default `report.html` in the run's folder; of many runs "
            "`index.html` in the folder that holds them.",
            dir_okay=False,
        ),
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Write what a run came to as one HTML file; of many runs a table, and the report of each.

    The file loads nothing from anywhere: it can be mailed, kept and read without a network.

    Examples: `cutegen report runs/20260101-swish`, `cutegen report runs`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.report.writing import is_run, write_report, write_suite

        folders = [run_folder(run, runs_dir) for run in runs]
        alone = len(folders) == 1 and is_run(folders[0])
        written = write_report(folders[0], out) if alone else write_suite(folders, out)
    if mode.as_json:
        mode.print_json(json.dumps({"path": str(written)}))
    else:
        mode.answers.print(str(written), markup=False, highlight=False, soft_wrap=True)
