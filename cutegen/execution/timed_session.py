"""A loaded candidate that is timed: one call after another, on inputs that change."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from cutegen.execution.changes import Changes
from cutegen.execution.failures import failed_launch
from cutegen.execution.memory import Arena, Layout, view
from cutegen.execution.session import WorkerSession
from cutegen.measurement.launches import Launches
from cutegen.measurement.sampling import SampleFailedError
from cutegen.measurement.timing import CallFigures
from cutegen.spec import Case, KernelSpec
from cutegen.verification.session import CaseRun


class TimedSession(WorkerSession):
    """A session on a GPU whose last launch can be made again and timed."""

    def __init__(
        self,
        spec: KernelSpec,
        library: Path,
        arena: Arena,
        *,
        timeout_s: float,
        cudart: str,
        device: int = 0,
    ) -> None:
        """Keep what is needed, as ``WorkerSession`` does."""
        super().__init__(spec, library, arena, timeout_s=timeout_s, cudart=cudart, device=device)
        self.residuals_us: list[float] = []
        self._changes: Changes | None = None

    def run(self, case: Case, inputs: Mapping[str, Tensor], schedule: str) -> CaseRun:
        """Poison the outputs, launch once, and look at everything it may have touched."""
        self._changes = Changes(Layout(case))
        return super().run(case, inputs, schedule)

    def sample(self) -> float:
        """Time the last launch again, on a cold L2, in microseconds.

        A few input elements get new values first; ``replay_changes`` makes the same changes.

        Raises:
            SampleFailedError: The call failed, crashed or did not end in time.
        """
        changes = self._changes.draw() if self._changes is not None else []
        reply = self._exchange("sample", changes=changes)
        failure = failed_launch(reply)
        if failure is not None:
            self._broken = failure
            raise SampleFailedError(failure.summary)
        self.residuals_us.append(float(reply["residual_us"]))
        return float(reply["us"])

    def replay_changes(self, inputs: Mapping[str, Tensor]) -> None:
        """Bring the inputs of the last launch, in place, to where the samples have left them."""
        if self._changes is not None:
            self._changes.apply(inputs)

    def calls(self) -> CallFigures:
        """What one call of the last launch costs beside its device time.

        Raises:
            SampleFailedError: The call failed, crashed or did not end in time.
        """
        reply = self._exchange("calls")
        failure = failed_launch(reply)
        if failure is not None:
            self._broken = failure
            raise SampleFailedError(failure.summary)
        return CallFigures.model_validate({name: reply[name] for name in CallFigures.model_fields})

    def trace(self) -> Launches:
        """What one call of the last launch puts on the stream. It is made again for that.

        Raises:
            SampleFailedError: The call failed, crashed or did not end in time.
        """
        reply = self._exchange("trace")
        failure = failed_launch(reply)
        if failure is not None:
            self._broken = failure
            raise SampleFailedError(failure.summary)
        return Launches.model_validate(reply["trace"])

    def read_outputs(self, case: Case) -> dict[str, Tensor]:
        """The outputs as the last launch or sample left them.

        Raises:
            SampleFailedError: The worker no longer answers.
        """
        self._exchange("fetch")
        self._arena.from_worker()
        layout = Layout(case)
        return {t.name: view(self._arena.memory, layout, t) for t in case.of("output")}

    def clear_outputs(self, case: Case) -> None:
        """Set the outputs to zero, so that a sample which writes nothing shows.

        Raises:
            SampleFailedError: The worker no longer answers.
        """
        layout = Layout(case)
        for tensor in case.of("output"):
            view(self._arena.memory, layout, tensor).zero_()
        self._arena.to_worker()
        self._exchange("put")
