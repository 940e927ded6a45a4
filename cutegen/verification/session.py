"""What the ladder needs of an executor: run one case, and say what was seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch
from pydantic import JsonValue
from torch import Tensor

from cutegen.frozen import Frozen
from cutegen.spec import Case
from cutegen.status import Status

_NOT_SUPPORTED = 801  # cudaErrorNotSupported


class Failure(Frozen):
    """Why a case gave no outputs."""

    status: Status
    summary: str
    hints: tuple[str, ...] = ()
    facts: dict[str, JsonValue] = {}
    log: str = ""

    @property
    def refuses_shapes(self) -> bool:
        """Whether ``cutegen_launch`` returned cudaErrorNotSupported, as it may for odd shapes."""
        code, stage = self.facts.get("cuda_error"), self.facts.get("stage")
        return (code, stage) == (_NOT_SUPPORTED, "return")


@dataclass(frozen=True)
class CaseRun:
    """One launch on one case.

    ``outputs`` are views into memory that the next run overwrites. ``trespasses`` says
    which guard bands were written, ``modified`` names inputs that no longer hold what
    they were given.
    """

    failure: Failure | None = None
    outputs: Mapping[str, Tensor] = field(default_factory=dict)
    trespasses: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


class Session(Protocol):
    """One loaded candidate. After a failure no run is possible before a ``restart``.

    A failure that merely ``refuses_shapes`` leaves it usable.
    """

    @property
    def name(self) -> str:
        """The executor's name."""

    @property
    def device(self) -> torch.device:
        """Where inputs are expected and outputs appear."""

    @property
    def schedules(self) -> tuple[str, ...]:
        """Orders in which threads can be run; results must not depend on them."""

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What is worth noting in the verdict."""

    @property
    def runs_made(self) -> int:
        """Runs since the candidate was loaded."""

    def runs_timed_case(self, case: Case) -> bool:
        """Whether the timed case is small enough to be run here."""

    def run(self, case: Case, inputs: Mapping[str, Tensor], schedule: str) -> CaseRun:
        """Poison the outputs, launch once, and wait.

        Args:
            case: Shapes of this launch.
            inputs: Inputs, parameters and buffers by name, contiguous, on ``device``.
            schedule: One of ``schedules``.
        """

    def restart(self) -> None:
        """Load the candidate anew in a fresh process, as if it had never been called."""
