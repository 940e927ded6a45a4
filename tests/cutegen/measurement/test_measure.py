"""Two clocks that contradict each other: a disturbance passes, hidden work stays."""

import time
from typing import cast

import pytest
from pydantic import JsonValue
from torch import nn, zeros

from cutegen.measurement.baselines import Baseline
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.measure import measure_candidate
from cutegen.measurement.timing import CallFigures, Measurement, MeasurementState
from cutegen.spec import KernelSpec, MathMode

SAMPLES = 50
WARM_UPS = 2
CEILINGS = Ceilings(
    device="NVIDIA H200",
    driver="580",
    copy_bytes_per_s=4.27e12,
    library_flops_per_s=dict.fromkeys(MathMode, 359e12),
    l2_bytes=50 << 20,
)


class Held:
    """A worker of 100 µs whose host waits 2 ms longer in its first calls."""

    def __init__(self, calls: int) -> None:
        self.facts: dict[str, JsonValue] = {}
        self.residuals_us: list[float] = []
        self._held = calls

    def sample(self) -> float:
        if len(self.residuals_us) < self._held:
            time.sleep(0.002)
        self.residuals_us.append(1.0)
        return 100.0

    def calls(self) -> CallFigures:
        raise AssertionError


def measured(held_calls: int) -> Measurement:
    return measure_candidate(
        KernelSpec.from_module(nn.ReLU(), (zeros(64, 64),)),
        candidate=Held(held_calls),
        eager=cast("Baseline", Held(0)),
        ceilings=CEILINGS,
        samples=SAMPLES,
        warm_up_s=0,
    )


@pytest.mark.parametrize(
    ("held_calls", "state"),
    [
        (WARM_UPS + SAMPLES, MeasurementState.MEASURED),
        (2 * (WARM_UPS + SAMPLES), MeasurementState.REFUSED),
    ],
)
def test_a_contradiction_is_believed_when_it_comes_again(
    held_calls: int, state: MeasurementState
) -> None:
    found = measured(held_calls)
    assert found.state is state, found.reason
    assert ("off the launch stream" in found.reason) is (state is MeasurementState.REFUSED)
