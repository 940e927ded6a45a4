"""Taking samples: all kernels by turns, so that a drifting clock is shared by all of them."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from cutegen.measurement.stopping import LOOKS, Enough, look_rounds
from cutegen.measurement.timing import CallFigures, Timing

LEAST_SAMPLES = 50
WARM_UP_S = 0.1
SPACING = 4  # rounds from one sample of a spaced worker to the next
_WORTH_S = 0.25  # a series is not ended early to save less than that


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
    enough: Enough | None = None,
    spaced: Collection[str] = (),
) -> dict[str, Timing]:
    """Time all workers by turns: A B C, B C A, C A B, and so on.

    Every worker is first warmed up for ``warm_up_s`` seconds, but at least twice: the first
    calls load modules and raise the clocks. Sample ``i`` of every timing was taken in the
    same round ``i``, so timings may be compared in pairs; only a spaced worker takes part in
    every fourth round. A disturbed round is thrown away and taken again, as long as not more
    rounds are lost than kept.

    Long kernels need fewer samples than short ones: where it saves a quarter of a second, the
    series may end at one of the looks that ``cutegen.measurement.stopping`` fixes.

    Args:
        workers: The workers by name.
        samples: Rounds at most, and at least ``LEAST_SAMPLES``.
        warm_up_s: Seconds of warm-up per worker.
        disturbed: Asked after each round whether the device was slowed down in it.
        enough: Whether the series may end; None: all rounds are made.
        spaced: Names of workers of which few samples will do.

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
    series = _Series(names, samples, enough)
    steady = [name for name in names if name not in spaced] or names
    lost = 0
    while not series.ended():
        present = steady if series.rounds % SPACING else names
        first = (series.rounds + lost) % len(present)
        order = present[first:] + present[:first]
        round_ = {name: _sample(name, workers[name]) for name in order}
        if disturbed() and lost < samples:
            lost += 1
            continue
        series.add(round_)
    return series.timings()


class _Series:
    """The rounds that were kept, and whether they will do."""

    def __init__(self, names: list[str], samples: int, enough: Enough | None) -> None:
        self.rounds = 0
        self._taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        self._samples = samples
        self._enough = enough
        self._looks = look_rounds(samples)
        self._looked = 0  # after how many rounds
        self._began = time.monotonic()

    def add(self, round_: Mapping[str, tuple[float, float]]) -> None:
        self.rounds += 1
        for name, sample in round_.items():
            self._taken[name].append(sample)

    def ended(self) -> bool:
        """Whether all rounds are made, or a look is due and the samples will do."""
        if self.rounds >= self._samples:
            return True
        due = self.rounds in self._looks and self.rounds > self._looked
        if self._enough is None or not due:
            return False
        self._looked = self.rounds
        if self.rounds == self._looks[0]:
            spent = time.monotonic() - self._began
            if spent / self.rounds * (self._samples - self.rounds) < _WORTH_S:
                self._enough = None  # decided by how long rounds take, not by what they show
                return False
        return self._enough(self.timings())

    def timings(self) -> dict[str, Timing]:
        return {
            name: Timing(
                samples_us=tuple(microseconds for microseconds, _ in taken),
                wall_us=tuple(wall for _, wall in taken),
                looks=1 if self._enough is None else LOOKS,
            )
            for name, taken in self._taken.items()
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
