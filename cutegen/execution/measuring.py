"""Measuring a verified kernel on a GPU: timed by turns, then held against a fresh process."""

from contextlib import ExitStack
from functools import partial

import torch

from cutegen.execution.bench import CudaBench
from cutegen.execution.examination import Examiner
from cutegen.execution.protocol import MeasurementJob
from cutegen.execution.sanitized import with_report, would_be_taken
from cutegen.execution.standby import Standby
from cutegen.execution.timed_session import TimedSession
from cutegen.measurement.baselines import Baseline
from cutegen.measurement.launches import unaccounted
from cutegen.measurement.measure import exclusive, measure_candidate
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution
from cutegen.verification.poison import same_bits


class Measuring:
    """Takes the measurements of one bench."""

    def __init__(self, bench: CudaBench, standby: Standby, examiner: Examiner) -> None:
        """Use what the executor has: its device, PyTorch's processes, the sanitizers."""
        self._bench = bench
        self._standby = standby
        self._examiner = examiner

    def measure(self, job: MeasurementJob) -> Measurement:
        """Time by turns; then a fresh process must agree with what the timed calls left.

        What would be taken passes compute-sanitizer too, on the smallest case.

        Raises:
            SampleFailedError: A kernel failed before it could be timed.
            BaselineError: PyTorch did.
            CudaError: The device did.
        """
        bench = self._bench
        with ExitStack() as stack:
            measurement, candidate = self._interleaved(job, stack)
            if measurement.state is not MeasurementState.MEASURED:
                return measurement
            left = {n: t.clone() for n, t in candidate.read_outputs(job.spec.timed).items()}
            torch.cuda.synchronize(bench.torch_device)
            launches = candidate.trace()  # after the outputs were read: it makes the call again
        environment = {**measurement.environment, "launches": launches.model_dump(mode="json")}
        measurement = measurement.model_copy(update={"environment": environment})
        assert measurement.candidate is not None
        if missing := unaccounted(launches, measurement.candidate):
            return _disbelieved(measurement, missing)
        build = bench.built(job.spec, job.source)
        inputs = draw_inputs(
            job.spec, job.spec.timed, Distribution.NORMAL, job.seed, bench.torch_device
        )
        candidate.replay_changes(inputs)
        examined = would_be_taken(measurement) and build.library is not None
        with ExitStack() as stack:
            stack.enter_context(exclusive(bench.device))
            if examined:
                examination = stack.enter_context(
                    self._examiner.examining(job.spec, job.source, build, job.seed)
                )
            session = bench.opened(job.spec, build, (job.spec.timed,), job.timeout_s)
            afresh = stack.enter_context(session)
            run = afresh.run(job.spec.timed, inputs, afresh.schedules[0])
            if run.failure is not None:
                return refused(run.failure.summary)
            wrong = [
                name for name, output in run.outputs.items() if not same_bits(output, left[name])
            ]
            if wrong:
                return _disbelieved(
                    measurement,
                    f"the timed calls left other values in {', '.join(wrong)} than a fresh "
                    "process computes from the same inputs: they answer from memory, or not at all",
                )
            return (
                with_report(measurement, examination.report(), job.source)
                if examined
                else measurement
            )

    def _interleaved(
        self, job: MeasurementJob, stack: ExitStack
    ) -> tuple[Measurement, TimedSession]:
        if job.compiled:
            self._standby.prepare("compile")
        loaded = partial(self._standby.loaded, job.spec, seed=job.seed, timeout_s=job.timeout_s)
        with self._standby.up() as idle:
            ceilings = idle.ceilings()
        eager = stack.enter_context(loaded("eager"))
        sessions = [
            stack.enter_context(
                self._bench.timed(job.spec, source, seed=job.seed, timeout_s=job.timeout_s)
            )
            for source in filter(None, (job.source, job.incumbent))
        ]
        more: dict[str, Baseline] = {}
        if job.compiled:
            more["compile"] = stack.enter_context(loaded("compile"))
        candidate = sessions[0]
        candidate.clear_outputs(job.spec.timed)
        measurement = measure_candidate(
            job.spec,
            candidate=candidate,
            eager=eager,
            ceilings=ceilings,
            incumbent=sessions[1] if job.incumbent is not None else None,
            more_baselines=more,
            samples=job.samples,
            device=self._bench.device,
        )
        return measurement, candidate


def refused(reason: str) -> Measurement:
    """A measurement of a kernel that failed while it was measured."""
    return Measurement(state=MeasurementState.REFUSED, reason=reason)


def _disbelieved(measurement: Measurement, reason: str) -> Measurement:
    return measurement.model_copy(update={"state": MeasurementState.REFUSED, "reason": reason})
