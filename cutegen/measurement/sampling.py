"""Taking samples: all kernels by turns, so that a drifting clock is shared by all of them."""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from cutegen.measurement.timing import CallFigures, Timing

LEAST_SAMPLES = 50
WARM_UP_S = 0.1


class TimedWorker(Protocol):
    """A process that holds one kernel and its inputs, ready to be called.

    ``residuals_us`` grows by one with each sample: how long the device stayed busy after the
    stop event, in microseconds.
    """

    residuals_us: list[float]

    def sample(self) -> float:
        """Time one call on a cold L2 by CUDA events, in microseconds.

        Raises:
            SampleFailedError: The call failed, crashed or did not end in time.
        """


class CallWorker(TimedWorker, Protocol):
    """A timed worker that can also say what a short call costs."""

    def calls(self) -> CallFigures:
        """The figures of a call, for kernels whose launch weighs as much as their work.

        Raises:
            SampleFailedError: The call failed, crashed or did not end in time.
        """


class SampleFailedError(RuntimeError):
    """A timed call gave no time. ``worker`` says whose it was, once that is known."""

    def __init__(self, reason: str, worker: str = "") -> None:
        """Keep the worker's name beside the reason."""
        super().__init__(f"{worker}: {reason}" if worker else reason)
        self.reason = reason
        self.worker = worker


def interleave(
    workers: Mapping[str, TimedWorker],
    samples: int = LEAST_SAMPLES,
    *,
    warm_up_s: float = WARM_UP_S,
    disturbed: Callable[[], bool] = lambda: False,
) -> dict[str, Timing]:
    """Time all workers by turns: A B C, B C A, C A B, and so on.

    Every worker is first warmed up for ``warm_up_s`` seconds, but at least twice: the first
    calls load modules and raise the clocks. Sample ``i`` of every timing was taken in the
    same round ``i``, so timings may be compared in pairs. A disturbed round is thrown away
    and taken again, as long as not more rounds are lost than kept.

    Args:
        workers: The workers by name.
        samples: Rounds, at least ``LEAST_SAMPLES``.
        warm_up_s: Seconds of warm-up per worker.
        disturbed: Asked after each round whether the device was slowed down in it.

    Raises:
        ValueError: No workers, or too few samples asked for.
        SampleFailedError: A call failed, or its time was not positive.
    """
    if not workers:
        raise ValueError("there is nothing to time: pass at least one worker")
    if samples < LEAST_SAMPLES:
        raise ValueError(f"ask for at least {LEAST_SAMPLES} samples, not {samples}")
    names = list(workers)
    for name in names:
        _warm_up(name, workers[name], warm_up_s)
    times: dict[str, list[float]] = {name: [] for name in names}
    walls: dict[str, list[float]] = {name: [] for name in names}
    kept = lost = 0
    while kept < samples:
        first = (kept + lost) % len(names)
        order = names[first:] + names[:first]
        round_ = {name: _sample(name, workers[name]) for name in order}
        if disturbed() and lost < samples:
            lost += 1
            continue
        kept += 1
        for name, (microseconds, wall) in round_.items():
            times[name].append(microseconds)
            walls[name].append(wall)
    return {
        name: Timing(samples_us=tuple(times[name]), wall_us=tuple(walls[name])) for name in names
    }


def _warm_up(name: str, worker: TimedWorker, seconds: float) -> None:
    end = time.monotonic() + seconds
    _sample(name, worker)
    _sample(name, worker)
    while time.monotonic() < end:
        _sample(name, worker)


def _sample(name: str, worker: TimedWorker) -> tuple[float, float]:
    """One sample and the wall clock around it, both in microseconds."""
    began = time.perf_counter()
    try:
        microseconds = worker.sample()
    except SampleFailedError as error:
        raise SampleFailedError(error.reason, name) from error
    wall = (time.perf_counter() - began) * 1e6
    if not microseconds > 0:  # not positive, or not a number
        raise SampleFailedError(f"a time of {microseconds} µs is impossible", name)
    return microseconds, wall
