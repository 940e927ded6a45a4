"""How the command line answers: exit codes, JSON or prose, and what it says of faults.

Nothing here loads PyTorch or the graph: help and a mistyped option are answered at once.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from cutegen.faults import RunBusyError, SurroundingsError


class Exit(IntEnum):
    """What the exit code says."""

    GOOD = 0
    FAILED = 1
    USAGE = 2
    ENVIRONMENT = 3
    WAITING = 4


class Program(TyperGroup):
    """The program: with ``--json``, what Typer itself refuses is told as an object too."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: Any = None,  # noqa: ANN401 - Typer's own type is private
        **extra: Any,  # noqa: ANN401 - the same
    ) -> Any:  # noqa: ANN401 - the same
        """Read the words after the program's name."""
        with _refusals_as_json("--json" in args):
            context = super().make_context(info_name, args, parent, **extra)
        context.obj = "--json" in args
        return context

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's own type is private
        """Read a command's own words and call it."""
        with _refusals_as_json(bool(ctx.obj)):
            return super().invoke(ctx)


@contextmanager
def _refusals_as_json(wanted: bool) -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        if not wanted:
            raise
        Mode(as_json=True).end(Exit.USAGE, error.format_message())


class Stages:
    """Seconds that each stage of a command took, one after the other."""

    def __init__(self) -> None:
        """Begin the first stage."""
        self.seconds: dict[str, float] = {}
        self._began = time.monotonic()

    def end(self, name: str) -> None:
        """End a stage, and begin the next one."""
        now = time.monotonic()
        self.seconds[name] = round(now - self._began, 3)
        self._began = now


class Mode:
    """How answers are given: to a person, or as one JSON object."""

    def __init__(
        self,
        as_json: bool,
        statuses: Mapping[Exit, str] | None = None,
        *,
        progress: bool | None = None,
    ) -> None:
        """Answer as JSON, or to a person.

        Args:
            as_json: Print one JSON object on standard output, and nothing else there.
            statuses: What the object's ``status`` is when the command ends with an exit code.
            progress: Tell what is going on, on standard error; only to a terminal if None.
        """
        self.as_json = as_json
        self._statuses = statuses or {}
        self.answers = Console()
        self._faults = Console(stderr=True)
        quiet = not (self._faults.is_terminal if progress is None else progress)
        self.progress = Console(stderr=True, quiet=quiet)

    def print_json(self, text: str) -> None:
        """Write the one JSON object."""
        sys.stdout.write(text + "\n")

    @contextmanager
    def faults_told(self) -> Iterator[None]:
        """Turn the user's mistakes and the machine's faults into a message and an exit code."""
        try:
            yield
        except SurroundingsError as error:
            self.end(Exit.ENVIRONMENT, str(error))
        except BrokenPipeError:  # whoever reads has seen enough
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - what is still buffered goes there
            raise typer.Exit(Exit.FAILED) from None
        except (RunBusyError, OSError, ValueError) as error:
            self.end(Exit.USAGE, str(error))

    @contextmanager
    def interruptions_told(self) -> Iterator[None]:
        """Say, when somebody presses Ctrl-C, that nothing is lost."""
        try:
            yield
        except KeyboardInterrupt:
            self._tell("interrupted; what is done is kept, and `cutegen resume` goes on from it")
            raise

    def end(self, code: Exit, fault: str) -> None:
        """Say why the command ends here, and end it.

        Raises:
            typer.Exit: Always.
        """
        if self.as_json:
            answer = {"error": fault, "kind": code.name.lower()}
            if code in self._statuses:
                answer["status"] = self._statuses[code]
            self.print_json(json.dumps(answer))
        self._tell(fault)
        raise typer.Exit(code)

    def _tell(self, fault: str) -> None:
        self._faults.print(f"cutegen: {fault}", markup=False, highlight=False, soft_wrap=True)
