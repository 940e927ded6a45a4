"""The parent's end of the baseline workers: PyTorch eager, and ``torch.compile``."""

from typing import Any, Literal, Self

from pydantic import JsonValue

from cutegen.execution.process import WorkerEndedError, WorkerProcess
from cutegen.measurement.ceilings import Ceilings, cached_ceilings
from cutegen.measurement.environment import driver_version
from cutegen.measurement.sampling import SampleFailedError
from cutegen.measurement.timing import CallFigures
from cutegen.spec import KernelSpec
from cutegen.toolchain.cache import default_cache_dir

Variant = Literal["eager", "compile"]

_MODULE = "cutegen.measurement.baseline"
_LOAD_TIMEOUT_S = 300.0  # torch.compile of a large reference takes minutes


class BaselineError(RuntimeError):
    """PyTorch itself cannot run the reference on this device; the message says why."""


class Baseline:
    """One baseline process, which is a ``TimedWorker``.

    It starts with the object, and importing PyTorch takes it seconds; entering the context
    waits for it. So it can come up while a candidate is built and verified.
    """

    def __init__(self, device: int = 0, timeout_s: float = 60.0) -> None:
        """Start the process on a CUDA device, and do not wait for it.

        Args:
            device: CUDA device index.
            timeout_s: Limit of one timed call.
        """
        self.timeout_s = timeout_s
        self.residuals_us: list[float] = []
        self.facts: dict[str, JsonValue] = {}
        self._loaded: tuple[str, Variant, int] | None = None
        self._process = WorkerProcess(None, device=device, module=_MODULE, wait=False)

    def __enter__(self) -> Self:
        """Wait until the process is up; at once when it is.

        Raises:
            BaselineError: It did not come up; the message holds its own words.
        """
        try:
            self._process.await_start()
        except (WorkerEndedError, RuntimeError) as error:
            notes = "\n".join(getattr(error, "__notes__", ()))
            raise BaselineError(f"the PyTorch baseline did not start: {error}\n{notes}") from error
        self.facts = self._ask("describe", self.timeout_s)
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process lives: it dies with the thread that started it."""
        return self._process.alive

    def ceilings(self) -> Ceilings:
        """The device's ceilings, from the cache or measured now. Call it before ``load``.

        Raises:
            BaselineError: They could not be measured.
        """
        driver = driver_version()

        def measure() -> Ceilings:
            self._loaded = None  # measuring changes the math mode
            reply = self._ask("ceilings", _LOAD_TIMEOUT_S, driver=driver)
            return Ceilings.model_validate(reply["ceilings"])

        return cached_ceilings(
            default_cache_dir() / "ceilings", str(self.facts["gpu"]), driver, measure
        )

    def load(self, spec: KernelSpec, variant: Variant = "eager", seed: int = 0) -> None:
        """Build the reference on the device; from then on ``sample`` times it.

        What is loaded already is not loaded again.

        Raises:
            BaselineError: The reference does not run there, for want of memory for example.
        """
        wanted = (spec.id, variant, seed)
        if self._loaded == wanted:
            return
        self._loaded = None
        self._ask(
            "load", _LOAD_TIMEOUT_S, spec=spec.model_dump(mode="json"), variant=variant, seed=seed
        )
        self._loaded = wanted

    def unload(self) -> None:
        """Give the reference's device memory back.

        Raises:
            BaselineError: The process does not answer.
        """
        self._loaded = None
        self._ask("unload", self.timeout_s)

    def sample(self) -> float:
        """Time one call on a cold L2, in microseconds.

        Raises:
            SampleFailedError: The call failed or did not end in time.
        """
        try:
            reply = self._ask("sample", self.timeout_s)
        except BaselineError as error:
            raise SampleFailedError(str(error)) from error
        self.residuals_us.append(reply["residual_us"])
        return float(reply["us"])

    def calls(self) -> CallFigures:
        """What one call costs beside its device time.

        Raises:
            SampleFailedError: The call failed or did not end in time.
        """
        try:
            reply = self._ask("calls", self.timeout_s)
        except BaselineError as error:
            raise SampleFailedError(str(error)) from error
        return CallFigures.model_validate(reply)

    def close(self) -> None:
        """Kill the process group."""
        self._process.close()

    def _ask(self, operation: str, timeout_s: float, **fields: object) -> dict[str, Any]:
        try:
            reply = self._process.ask(operation, timeout_s, **fields)
        except WorkerEndedError as error:
            log = self._process.close()
            raise BaselineError(f"the PyTorch baseline: {error}\n{log[-2000:]}") from error
        if reply["error"]:
            self._process.close()  # what failed once is not asked again
            raise BaselineError(f"the PyTorch baseline failed in {operation}: {reply['error']}")
        return {name: value for name, value in reply.items() if name != "error"}
