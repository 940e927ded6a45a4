"""Does the clock tell the truth on this machine? Kernels whose time is known beforehand.

An empty kernel takes a few microseconds; a copy takes its bytes over the device's copy
bandwidth; a kernel that waits by the GPU's own nanosecond counter takes as long as it was
told to; and the same one on a stream that the events do not see must be found out.
"""

import time
from contextlib import AbstractContextManager
from enum import StrEnum
from functools import cache
from pathlib import Path
from statistics import median
from typing import Protocol

import torch

from cutegen.frozen import Frozen
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.measure import exclusive
from cutegen.measurement.sampling import LEAST_SAMPLES, SampleFailedError, TimedWorker, interleave
from cutegen.measurement.timing import Timing
from cutegen.spec import KernelSpec

COPY_BYTES = 1 << 30
SLEEPS_US = (200, 1000)
_LEAST_EMPTY_US = 0.1
_MOST_EMPTY_US = 10.0
_COPY_FRACTION = (0.9, 1.05)  # of copy bandwidth; the last lines written may still lie in L2
_TICK_US = 2.0  # the nanosecond counter of some devices advances once a microsecond
_LAUNCH_US = 10.0
_LATE_US = 100.0  # the host's own way to its clock
_SCALE = 0.01  # how far two clocks of one chip may disagree
_PROBES = Path(__file__).with_name("probes")


class SelfTestState(StrEnum):
    """What the self-test shows."""

    PASSED = "passed"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"  # nothing here has a clock worth testing


class Trial(Frozen):
    """One known time: what was measured, and between which bounds it had to lie."""

    name: str
    measured_us: float
    low_us: float
    high_us: float
    sentence: str

    @property
    def passed(self) -> bool:
        """Whether the clock told the truth."""
        return self.low_us <= self.measured_us <= self.high_us


class SelfTest(Frozen):
    """All trials with the samples behind them; ``reason`` says why there are none."""

    state: SelfTestState
    reason: str = ""
    trials: tuple[Trial, ...] = ()
    timings: dict[str, Timing] = {}
    seconds: float = 0.0


class Bench(Protocol):
    """Where kernels are timed: an executor with a GPU."""

    @property
    def device(self) -> int:
        """CUDA device index."""

    def timed(self, spec: KernelSpec, source: str) -> AbstractContextManager[TimedWorker]:
        """A fresh worker that holds one kernel and the timed case."""

    def ceilings(self) -> Ceilings:
        """What the device can do at best."""


class Probe(Frozen):
    """A kernel with a known time: its spec and its source."""

    name: str
    spec: KernelSpec
    source: str


@cache
def probes() -> tuple[Probe, ...]:
    """The kernels of the self-test."""
    asleep = _source("sleep")
    sleeping = tuple(
        Probe(name=f"sleep {duration}", spec=_spec(duration), source=asleep)
        for duration in SLEEPS_US
    )
    return (
        Probe(name="empty", spec=_spec(1), source=_source("empty")),
        Probe(name="copy", spec=_spec(COPY_BYTES // 4), source=_source("copy")),
        *sleeping,
        Probe(
            name="elsewhere",
            spec=_spec(SLEEPS_US[-1]),
            source=asleep.replace("kElsewhere = false", "kElsewhere = true"),
        ),
    )


def run_self_test(bench: Bench, samples: int = LEAST_SAMPLES) -> SelfTest:
    """Time every probe in a worker of its own; about ten seconds, builds not counted.

    Returns:
        PASSED or FAILED with all trials; FAILED with the reason when a probe does not run.
    """
    began = time.monotonic()
    timings: dict[str, Timing] = {}
    residuals: dict[str, list[float]] = {}
    try:
        ceilings = bench.ceilings()
        for probe in probes():
            with bench.timed(probe.spec, probe.source) as worker, exclusive(bench.device):
                timings |= interleave({probe.name: worker}, samples)
                residuals[probe.name] = worker.residuals_us[-samples:]
    except SampleFailedError as error:
        return SelfTest(state=SelfTestState.FAILED, reason=f"a probe does not run: {error}")
    late_us = median(residuals["elsewhere"]) - median(residuals["empty"])
    trials = examine(
        {name: timing.median_us for name, timing in timings.items()}, late_us, ceilings
    )
    return SelfTest(
        state=SelfTestState.PASSED
        if all(trial.passed for trial in trials)
        else SelfTestState.FAILED,
        trials=trials,
        timings=timings,
        seconds=time.monotonic() - began,
    )


def examine(at: dict[str, float], late_us: float, ceilings: Ceilings) -> tuple[Trial, ...]:
    """Compare measured times with those that are known.

    Args:
        at: Median times in microseconds, by the name of the probe.
        late_us: How long the device stayed busy after the stop event of the probe that works
            on another stream.
        ceilings: The device's ceilings, for the copy.
    """
    copying = 2 * COPY_BYTES / ceilings.copy_bytes_per_s * 1e6
    least, most = _COPY_FRACTION
    short, long = SLEEPS_US
    span = long - short
    return (
        Trial(
            name="empty",
            measured_us=at["empty"],
            low_us=_LEAST_EMPTY_US,
            high_us=_MOST_EMPTY_US,
            sentence="an empty kernel takes a launch and no more",
        ),
        Trial(
            name="copy",
            measured_us=at["copy"],
            low_us=copying / most,
            high_us=copying / least,
            sentence=f"{2 * COPY_BYTES / 1e9:.2f} GB move at "
            f"{2 * COPY_BYTES / at['copy'] / 1e6:.2f} TB/s; this device copies at "
            f"{ceilings.copy_bytes_per_s / 1e12:.2f}",
        ),
        *(
            Trial(
                name=f"sleep {duration}",
                measured_us=at[f"sleep {duration}"],
                low_us=duration - _TICK_US,
                high_us=duration + _TICK_US + _LAUNCH_US,
                sentence=f"a kernel that waits {duration} µs takes that and a launch",
            )
            for duration in SLEEPS_US
        ),
        Trial(
            name="scale",
            measured_us=at[f"sleep {long}"] - at[f"sleep {short}"],
            low_us=span * (1 - _SCALE),
            high_us=span * (1 + _SCALE),
            sentence=f"waiting {span} µs more shows as that much",
        ),
        Trial(
            name="elsewhere",
            measured_us=late_us,
            low_us=long / 2,  # it runs beside the flush for a while
            high_us=long * (1 + _SCALE) + _LATE_US,
            sentence="work on another stream is seen after the stop event",
        ),
    )


def _source(name: str) -> str:
    return (_PROBES / f"{name}.cu").read_text(encoding="utf-8")


def _spec(elements: int) -> KernelSpec:
    return KernelSpec.from_callable(_copied, [torch.zeros(elements)], name=f"probe-{elements}")


def _copied(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
