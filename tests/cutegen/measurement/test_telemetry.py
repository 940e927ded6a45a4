"""Telemetry where there is none to be had: no package, and no driver."""

import sys

import pytest
import torch

from cutegen.measurement.environment import driver_version
from cutegen.measurement.telemetry import (
    ReadingState,
    RoundWatch,
    Telemetry,
    read_device,
    throttle_names,
)

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a driver here")


def test_without_the_package_a_reading_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # how Python marks what cannot be imported
    reading = read_device()
    assert reading.state is ReadingState.UNAVAILABLE
    assert "pip install nvidia-ml-py" in reading.reason
    assert driver_version() == "unknown"


@without_gpu
def test_without_a_driver_a_reading_says_so() -> None:
    pytest.importorskip("pynvml")
    reading = read_device("81572562-29bd-7acd-52fb-c23dc5d27260")
    assert reading.state is ReadingState.UNAVAILABLE
    assert "NVML cannot be used" in reading.reason
    assert reading.sm_clock_mhz is None


@without_gpu
def test_a_device_that_cannot_be_asked_disturbs_no_round() -> None:
    with Telemetry() as telemetry:
        watch = RoundWatch(telemetry)
        assert not watch.disturbed()
    assert watch.summary() == {"disturbed": 0, "throttle": {}, "sm_clock_mhz": []}


def test_throttle_reasons_have_names() -> None:
    assert throttle_names(0) == ()
    assert throttle_names(0x4 | 0x40) == ("power-cap", "hardware-thermal")
    assert throttle_names(0x1000) == ("0x1000",)
