"""The planted kernels are right, so that what is profiled is a candidate; by the emulator.

The one of CuTe takes the emulator a minute to build under load; it differs from the cookbook's
``wgmma_tma`` in its repeated product only, and was judged by hand.
"""

import sys
from pathlib import Path

import pytest

from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob
from cutegen.status import Status

sys.path.insert(0, str(Path(__file__).resolve().parent))

from profile_plants import KERNELS, PLANTS


@pytest.mark.parametrize("name", sorted(set(PLANTS) - {"tensor"}))
def test_a_planted_kernel_is_right(name: str) -> None:
    source = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    job = EvaluationJob(spec=PLANTS[name].spec(name, small=True), source=source)
    verdict = resolve_executor("emulated").evaluate(job)
    assert verdict.status is Status.PASSED, verdict.evidence.summary


def test_every_plant_has_its_kernel() -> None:
    assert {path.stem for path in KERNELS.glob("*.cu")} == set(PLANTS)
