"""A time must be that of the kernels which a call launches."""

import pytest

from cutegen.measurement.launches import LaunchedKernel, Launches, unaccounted
from cutegen.measurement.timing import Timing

KERNEL = LaunchedKernel(name="relu", grid=(64, 1, 1), block=(256, 1, 1), shared=0)


def timing(microseconds: float) -> Timing:
    return Timing(samples_us=(microseconds,) * 3)


@pytest.mark.parametrize(
    ("launches", "median_us", "words"),
    [
        (Launches(kernels=(KERNEL,), replay_us=52.0), 50.0, ""),
        (Launches(kernels=(KERNEL,), replay_us=14.0), 4.6, ""),  # starting a graph takes time
        (Launches(kernels=(KERNEL,), replay_us=900.0), 5.0, "relu"),
        (Launches(), 5.0, "nothing at all"),
        (Launches(others={"memcpy": 1}, replay_us=5.0), 5.0, "1 memcpy"),
        (Launches(reason="the launch cannot be captured"), 5.0, ""),
    ],
)
def test_work_and_time_agree_or_it_is_said(
    launches: Launches, median_us: float, words: str
) -> None:
    said = unaccounted(launches, timing(median_us))
    assert bool(said) == bool(words)
    assert words in said


def test_what_a_worker_tells_can_be_read() -> None:
    told = {
        "kernels": [{"name": "k", "grid": [1, 2, 3], "block": [32, 1, 1], "shared": 0}],
        "others": {"memset": 1},
        "replay_us": 3.5,
    }
    assert Launches.model_validate(told).kernels[0].grid == (1, 2, 3)
