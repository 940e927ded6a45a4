"""The command line: every command of the ``cutegen`` program.

Standard output carries the answer (one JSON object with ``--json``), standard error the progress
(to a terminal, or with ``--progress``) and the faults. Exit codes: 0 good, 1 the kernel or the
run failed, 2 usage, 3 environment, 4 a person is asked.

A command's module imports what it works with when it is called, so that help and completion
come at once, and judging a kernel loads no graph.
"""

import os
from importlib.metadata import version
from typing import Annotated

import typer

from cutegen.answering import Program
from cutegen.cli_doctor import add_doctor
from cutegen.cli_evaluate import add_evaluate_commands
from cutegen.cli_report import add_report_command
from cutegen.cli_run import add_run_commands
from cutegen.cli_runs import add_runs_commands
from cutegen.cli_suite import add_suite_commands

app = typer.Typer(
    cls=Program,
    epilog="Start with `cutegen doctor`, then `cutegen run tests/kernelbench/level1/25_Swish.py`. "
    "`cutegen --install-completion` teaches your shell these words.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cutegen {version('cutegen')}")
        raise typer.Exit


@app.callback()
def program(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Turn a PyTorch module into a verified, fast CuTe kernel."""


add_run_commands(app)
add_suite_commands(app)
add_evaluate_commands(app)
add_runs_commands(app)
add_report_command(app)
add_doctor(app)


def main() -> None:
    """Entry point of the ``cutegen`` program."""
    # PyTorch's threads sleep while they wait for each other. By default they spin, and where
    # builds and other runs share the cores each small operation of a check then takes 20 ms.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app()
