import math
import time
from collections.abc import Iterable, Iterator, Mapping

import pytest

from cutegen.measurement.sampling import SampleFailedError, interleave
from cutegen.measurement.timing import Timing


class Recording:
    """A worker with known times; it writes its name down whenever it is called."""

    def __init__(self, name: str, times: Iterable[float], calls: list[str]) -> None:
        self.residuals_us: list[float] = []
        self._name = name
        self._times: Iterator[float] = iter(times)
        self._calls = calls

    def sample(self) -> float:
        self._calls.append(self._name)
        self.residuals_us.append(0.0)
        return next(self._times)


def test_workers_take_turns_and_the_first_place_rotates() -> None:
    calls: list[str] = []
    workers = {name: Recording(name, [10.0] * 200, calls) for name in "abc"}
    timings = interleave(workers, 50, warm_up_s=0)
    assert calls[:6] == list("aabbcc")
    assert "".join(calls[6:15]) == "abcbcacab"
    assert {name: len(timing.samples_us) for name, timing in timings.items()} == dict.fromkeys(
        "abc", 50
    )
    assert all(wall > 0 for timing in timings.values() for wall in timing.wall_us)


def test_warm_up_samples_are_not_kept() -> None:
    workers = {"a": Recording("a", [900.0, 900.0] + [10.0] * 50, [])}
    assert set(interleave(workers, 50, warm_up_s=0)["a"].samples_us) == {10.0}


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_impossible_times_are_refused_with_the_workers_name(bad: float) -> None:
    workers = {"good": Recording("good", [1.0] * 99, []), "bad": Recording("bad", [1.0, bad], [])}
    with pytest.raises(SampleFailedError, match="bad: a time of"):
        interleave(workers, 50, warm_up_s=0)


def test_a_failing_worker_is_named() -> None:
    class Broken(Recording):
        def sample(self) -> float:
            raise SampleFailedError("an illegal address was touched")

    with pytest.raises(SampleFailedError) as caught:
        interleave({"candidate": Broken("candidate", [], [])}, 50, warm_up_s=0)
    assert caught.value.worker == "candidate"


def test_too_few_samples_and_no_workers_are_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="at least 50"):
        interleave({"a": Recording("a", [], [])}, 10)
    with pytest.raises(ValueError, match="nothing to time"):
        interleave({}, 50)


def test_a_disturbed_round_is_thrown_away_for_all_and_taken_again() -> None:
    hot = iter([True, False, True, *[False] * 100])
    times = {"a": [1.0, 1.0, 90.0, 2.0, 91.0], "b": [1.0, 1.0, 92.0, 3.0, 93.0]}
    workers = {name: Recording(name, [*first, *[5.0] * 60], []) for name, first in times.items()}
    timings = interleave(workers, 50, warm_up_s=0, disturbed=lambda: next(hot))
    assert timings["a"].samples_us == (2.0, *[5.0] * 49)
    assert timings["b"].samples_us == (3.0, *[5.0] * 49)


def test_a_device_that_is_always_disturbed_is_timed_all_the_same() -> None:
    worker = Recording("a", [1.0] * 200, [])
    timings = interleave({"a": worker}, 50, warm_up_s=0, disturbed=lambda: True)
    assert len(timings["a"].samples_us) == 50
    assert len(worker.residuals_us) == 2 + 100


class Slow(Recording):
    """Its rounds take so long that ending early is worth it."""

    def sample(self) -> float:
        time.sleep(0.009)
        return super().sample()


def test_a_series_of_long_calls_ends_at_a_look_and_says_so() -> None:
    asked: list[int] = []

    def enough(timings: Mapping[str, Timing]) -> bool:
        asked.append(len(timings["a"].samples_us))
        return len(asked) == 2

    timing = interleave({"a": Slow("a", [5.0] * 60, [])}, 50, warm_up_s=0, enough=enough)["a"]
    assert asked == [20, 32]
    assert (len(timing.samples_us), timing.looks) == (32, 3)


def test_a_series_of_short_calls_is_not_looked_at() -> None:
    worker = Recording("a", [5.0] * 60, [])
    timing = interleave({"a": worker}, 50, warm_up_s=0, enough=lambda _: True)["a"]
    assert (len(timing.samples_us), timing.looks) == (50, 1)


def test_a_spaced_worker_takes_part_in_every_fourth_round() -> None:
    calls: list[str] = []
    workers = {name: Recording(name, [10.0] * 60, calls) for name in "abp"}
    timings = interleave(workers, 50, warm_up_s=0, spaced="p")
    assert "".join(calls[6:15]) == "abpbaabba"
    counts = {name: len(timing.samples_us) for name, timing in timings.items()}
    assert counts == {"a": 50, "b": 50, "p": 13}
