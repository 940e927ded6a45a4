"""Measuring a verified candidate: interleaved timings, and three reasons not to believe them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

import numpy as np
from filelock import FileLock
from pydantic import JsonValue

from cutegen.measurement.baselines import Baseline
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.devices import lasting_name
from cutegen.measurement.environment import record
from cutegen.measurement.roofline import refusal, roofline
from cutegen.measurement.sampling import (
    LEAST_SAMPLES,
    WARM_UP_S,
    CallWorker,
    SampleFailedError,
    interleave,
)
from cutegen.measurement.stopping import decided, narrow
from cutegen.measurement.telemetry import RoundWatch, Telemetry
from cutegen.measurement.timing import CallFigures, Measurement, MeasurementState, Timing
from cutegen.spec import KernelSpec
from cutegen.toolchain.cache import default_cache_dir

CANDIDATE = "candidate"
INCUMBENT = "incumbent"
EAGER = "eager"
SHORT_US = 20.0  # below this a launch weighs as much as the work
_WALL_MARGIN_US = 300.0  # what Python and the socket may differ by from call to call
# Work of another process shares the device in slices of 2 ms, which looks like hidden work.
_SERIES = 2
_LATE_MARGIN_US = 50.0  # what an empty synchronisation may differ by between two processes


@contextmanager
def exclusive(device: int) -> Iterator[None]:
    """Keep every other CuTeGen process off a device while times are taken on it.

    Processes that see different GPUs, each as its device 0, do not wait for each other.
    """
    folder = default_cache_dir() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"gpu-{lasting_name(device)}.lock"):
        yield


def measure_candidate(
    spec: KernelSpec,
    *,
    candidate: CallWorker,
    eager: Baseline,
    ceilings: Ceilings,
    incumbent: CallWorker | None = None,
    more_baselines: Mapping[str, CallWorker] | None = None,
    samples: int = LEAST_SAMPLES,
    warm_up_s: float = WARM_UP_S,
    device: int = 0,
) -> Measurement:
    """Time a candidate with its incumbent and PyTorch, by turns, alone on the device.

    Where there is an incumbent, it is the one to be beaten: PyTorch's baselines then take part
    in every fourth round, and the series may end once it is clear which of the two is faster.
    Without one, it may end once the speedups are known to 0.5 %. A series in which the clocks
    contradict each other is taken again: what disturbs a measurement passes, hidden work stays.

    Args:
        spec: What the candidate implements.
        candidate: Its worker, loaded with the timed case.
        eager: The loaded eager baseline on the same device.
        ceilings: The device's ceilings (``eager.ceilings()``, asked for before loading).
        incumbent: The worker of the kernel to be beaten.
        more_baselines: Other loaded baselines by name, such as ``compile``.
        samples: Rounds at most, and at least 50.
        warm_up_s: Seconds of warm-up per worker.
        device: CUDA device index.

    Returns:
        MEASURED with all timings, or REFUSED with the reason and, for a time that is not
        believed, with the timings that led to it. Never raises for what a kernel did.
    """
    baselines: dict[str, CallWorker] = {EAGER: eager, **(more_baselines or {})}
    workers: dict[str, CallWorker] = {CANDIDATE: candidate, **baselines}
    if incumbent is not None:
        workers[INCUMBENT] = incumbent
    enough = narrow(CANDIDATE) if incumbent is None else decided(CANDIDATE, INCUMBENT)
    environment = record(eager.facts)
    with exclusive(device), Telemetry(str(eager.facts.get("uuid", ""))) as telemetry:
        watch = RoundWatch(telemetry)
        environment["before"] = telemetry.read().model_dump(mode="json")
        try:
            for _ in range(_SERIES):
                timings = interleave(
                    workers,
                    samples,
                    warm_up_s=warm_up_s,
                    disturbed=watch.disturbed,
                    enough=enough,
                    spaced=() if incumbent is None else tuple(baselines),
                )
                suspicion = late_work(
                    _residuals(candidate, timings[CANDIDATE]), _residuals(eager, timings[EAGER])
                ) or hidden_work(timings[CANDIDATE], timings[EAGER])
                if not suspicion:
                    break
            calls = call_figures(workers, timings)
        except SampleFailedError as error:
            return Measurement(
                state=MeasurementState.REFUSED, reason=str(error), environment=environment
            )
        environment["after"] = telemetry.read().model_dump(mode="json")
    environment["rounds"] = watch.summary()
    return judge(spec, timings, ceilings, environment, suspicion).model_copy(
        update={"calls": calls}
    )


def call_figures(
    workers: Mapping[str, CallWorker], timings: Mapping[str, Timing]
) -> dict[str, CallFigures]:
    """What a call costs each worker, when the candidate's kernel is a short one.

    Raises:
        SampleFailedError: A worker failed at it.
    """
    if timings[CANDIDATE].median_us >= SHORT_US:
        return {}
    return {name: worker.calls() for name, worker in workers.items()}


def judge(
    spec: KernelSpec,
    timings: Mapping[str, Timing],
    ceilings: Ceilings,
    environment: dict[str, JsonValue],
    suspicion: str = "",
) -> Measurement:
    """Turn interleaved timings into a measurement, or refuse to believe them.

    Args:
        spec: What was measured.
        timings: By name: ``candidate``, perhaps ``incumbent``, and the baselines.
        ceilings: The device's ceilings.
        environment: What the numbers depend on.
        suspicion: A reason to refuse that the clocks gave: ``late_work`` or ``hidden_work``.
    """
    candidate = timings[CANDIDATE]
    reason = refusal(spec, candidate, ceilings) or suspicion
    return Measurement(
        state=MeasurementState.REFUSED if reason else MeasurementState.MEASURED,
        reason=reason,
        candidate=candidate,
        incumbent=timings.get(INCUMBENT),
        baselines={
            name: timing for name, timing in timings.items() if name not in (CANDIDATE, INCUMBENT)
        },
        roofline=roofline(spec, candidate, ceilings),
        environment=environment,
    )


def hidden_work(candidate: Timing, baseline: Timing) -> str:
    """Why the candidate's events and our own clock disagree, or an empty string.

    A request costs more wall clock than its events show: flush, launch, synchronisation,
    reply. The baseline pays the same price in the same rounds. If the candidate pays more by
    300 µs, by half of its own time and by as much again as the baseline, then it works where
    the events do not look: on another stream, or in a thread of the host. A busy host delays
    the one or the other in most rounds, but hidden work is there in all of them: compared are
    lower quartiles.
    """
    own, usual = _overhead_us(candidate), _overhead_us(baseline)
    if own - usual <= max(_WALL_MARGIN_US, candidate.median_us / 2, usual):
        return ""
    return (
        f"the events show {candidate.median_us:.1f} µs, but a call keeps the host waiting for "
        f"{own:.0f} µs more, where PyTorch's takes {usual:.0f} µs more: work is done off the "
        "launch stream, so this time is refused"
    )


def late_work(candidate: Sequence[float], baseline: Sequence[float]) -> str:
    """Why the device was still busy after the stop event, or an empty string.

    Args:
        candidate: The candidate's residuals in microseconds, as its worker saw them.
        baseline: PyTorch's: what it takes to synchronise with an idle device.
    """
    excess = median(candidate) - median(baseline)
    if excess <= _LATE_MARGIN_US:
        return ""
    return (
        f"the device is busy for {excess:.0f} µs after the stop event: work is done off the "
        "launch stream, so this time is refused"
    )


def _residuals(worker: CallWorker, timing: Timing) -> list[float]:
    """Those of the samples that a timing kept, the last ones taken."""
    return worker.residuals_us[-len(timing.samples_us) :]


def _overhead_us(timing: Timing) -> float:
    """Lower quartile of the wall clock beyond the events, in microseconds."""
    pairs = zip(timing.wall_us, timing.samples_us, strict=True)
    return float(np.quantile([wall - device for wall, device in pairs], 0.25))
