"""How a run ended, as data that outlives it."""

from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue, ValidationError
from torch import Tensor

from cutegen.frozen import Frozen
from cutegen.history import Step
from cutegen.measurement.timing import Roofline, Timing
from cutegen.method import Method
from cutegen.shown import Shown
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.verdict import Verdict

if TYPE_CHECKING:
    from cutegen.execution.callable import KernelCallable

RESULT_FILE = "result.json"
SPEC_FILE = "spec.json"
BEST_FILE = "best.cu"
LOG_FILE = "log.jsonl"


class RunStatus(StrEnum):
    """How a run ended."""

    SUCCEEDED = "SUCCEEDED"  # there is a verified kernel, and the search ran its course
    FAILED = "FAILED"  # no candidate was ever verified
    UNSUPPORTED = "UNSUPPORTED"  # the model says it cannot write this kernel, and why
    WAITING = "WAITING"  # a person is asked: resume the run with the reply
    STOPPED = "STOPPED"  # a budget, the surroundings or the model service ended it early


class BestKernel(Shown):
    """The best verified kernel of a run. It can be called like the reference's ``forward``.

    ``speedup`` is PyTorch eager's median time over the kernel's; None with
    ``speedup_reason`` where nothing was measured. ``baselines`` are PyTorch's timings of the
    session that ``timing`` comes from.
    """

    id: str
    source_path: Path
    verdict: Verdict
    speedup: float | None = None
    speedup_reason: str = ""
    timing: Timing | None = None
    baselines: dict[str, Timing] = {}
    roofline: Roofline | None = None
    roofline_fraction: float | None = None
    executor: Literal["cuda", "emulated"]

    @property
    def source(self) -> str:
        """The CUDA source."""
        return self.source_path.read_text()

    def __call__(self, *args: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        """Run the kernel on CUDA tensors (CPU tensors, if the run was emulated).

        Raises:
            EnvironmentUnfitError: It cannot be built on this machine.
            TypeError, ValueError, RuntimeError: See ``KernelCallable``.
        """
        return self._callable(*args)

    @cached_property
    def _callable(self) -> "KernelCallable":
        """The kernel, built here: the cache knows it if it was built here before."""
        # executors drag in the CUDA runtime, which a mere reader of results need not load
        from cutegen.execution import (  # noqa: PLC0415
            EnvironmentUnfitError,
            load_callable,
            resolve_executor,
        )

        spec = KernelSpec.model_validate_json((self.source_path.parent / SPEC_FILE).read_text())
        build = resolve_executor(self.executor).build(spec, self.source)
        if build.status is not Status.PASSED or build.library is None:
            raise EnvironmentUnfitError(
                f"the kernel was verified but cannot be built on this machine: "
                f"{build.advice or build.log or build.status}"
            )
        return load_callable(spec, build.library, self.executor)


class Question(Frozen):
    """What a person, as the model of a run, is asked: the prompt, and the file it lies in."""

    agent: str
    prompt: str
    prompt_file: Path


class RunResult(Shown):
    """What a run came to. Its JSON is what ``cutegen run --json`` prints.

    A run that is ``WAITING`` has not come to its end: ``question`` is to be answered first.
    """

    status: RunStatus
    run_id: str
    run_dir: Path
    spec: str
    spec_name: str
    best: BestKernel | None = None
    question: Question | None = None
    steps: tuple[Step, ...] = ()
    reason: str = ""
    executor: str
    model: str
    method: Method = Method()
    seconds: float = 0.0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0  # None where a model's price is not known
    uncounted_calls: int = 0  # calls whose tokens were estimated, as the server sent no count
    environment: dict[str, JsonValue] = {}

    @classmethod
    def load(cls, run_dir: str | Path) -> "RunResult":
        """Read the result of a finished run, wherever its folder lies now.

        Raises:
            FileNotFoundError: The run has not finished, or this is no run folder.
            ValueError: Another version of CuTeGen wrote it.
        """
        folder = Path(run_dir).resolve()
        file = folder / RESULT_FILE
        if not file.exists():
            raise FileNotFoundError(
                f"{folder} holds no {RESULT_FILE}: the run has not finished; take it up again "
                f"with `cutegen resume {run_dir}`"
            )
        try:
            result = cls.model_validate_json(file.read_text())
        except ValidationError as error:
            raise ValueError(
                f"{file} cannot be read, so it was cut short or written by another version of "
                f"CuTeGen: {error.errors()[0]['msg']}"
            ) from None
        best = result.best
        if best is not None:
            best = best.model_copy(update={"source_path": folder / BEST_FILE})
        return result.model_copy(update={"run_dir": folder, "best": best})
