"""How the command line answers: exit codes, JSON or prose, and what it says of faults."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum

import typer
from rich.console import Console

from cutegen.agents.models.errors import ModelError
from cutegen.execution import EnvironmentUnfitError
from cutegen.graphs.following import RunBusyError
from cutegen.spec import SpecError
from cutegen.toolchain.discovery import ToolNotFoundError


class Exit(IntEnum):
    """What the exit code says."""

    GOOD = 0
    FAILED = 1
    USAGE = 2
    ENVIRONMENT = 3
    WAITING = 4


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

    def __init__(self, as_json: bool, statuses: Mapping[Exit, str] | None = None) -> None:
        """Answer as JSON, or to a person.

        Args:
            as_json: Print one JSON object on standard output, and nothing else there.
            statuses: What the object's ``status`` is when the command ends with an exit code.
        """
        self.as_json = as_json
        self._statuses = statuses or {}
        self.answers = Console()
        self.progress = Console(stderr=True)

    def print_json(self, text: str) -> None:
        """Write the one JSON object."""
        sys.stdout.write(text + "\n")

    @contextmanager
    def faults_told(self) -> Iterator[None]:
        """Turn the user's mistakes and the machine's faults into a message and an exit code."""
        try:
            yield
        except (EnvironmentUnfitError, ToolNotFoundError, ModelError) as error:
            self._end(Exit.ENVIRONMENT, error)
        except (SpecError, RunBusyError, OSError, ValueError) as error:
            self._end(Exit.USAGE, error)

    def _end(self, code: Exit, error: Exception) -> None:
        if self.as_json:
            answer = {"error": str(error), "kind": code.name.lower()}
            if code in self._statuses:
                answer["status"] = self._statuses[code]
            self.print_json(json.dumps(answer))
        self.progress.print(f"cutegen: {error}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(code)
