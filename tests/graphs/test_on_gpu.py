"""The graph where there is a clock: measured decisions, and an emulated run taken up."""

from pathlib import Path
from typing import Any

import pytest
import torch

from cutegen.graphs.resuming import resume_run
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget
from cutegen.graphs.workshop import has_nvcc
from cutegen.history import Decision, StepKind
from cutegen.result import RunStatus
from cutegen.spec import KernelSpec

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(not has_nvcc(), reason="needs nvcc"),
]
SPEC = Path(__file__).parents[1] / "kernelbench" / "custom" / "small_swish.py"


def test_an_emulated_run_is_taken_up(tmp_path: Path) -> None:
    emulated = run_graph(
        SPEC, executor="emulated", nvcc_gate=False, runs_dir=tmp_path, budget=Budget(steps=2)
    )
    assert emulated.best is not None
    assert emulated.best.speedup is None
    result = resume_run(emulated.run_dir, executor="cuda", budget=Budget(steps=1))
    assert result.status is RunStatus.SUCCEEDED, result.reason
    assert result.executor == "cuda"
    best = result.best
    assert best is not None
    assert best.timing is not None
    assert best.speedup is not None
    again = result.steps[len(emulated.steps) :]
    assert again[0].candidate == emulated.steps[0].candidate
    assert again[0].kind is StepKind.SYNTHESIS
    assert all(step.time_us for step in again if step.decision is Decision.ACCEPTED)
    x = torch.randn(256, 1000, device="cuda")
    y: Any = best(x)
    torch.testing.assert_close(y, x * torch.sigmoid(x))


def test_times_decide(tmp_path: Path) -> None:
    result = run_graph(
        KernelSpec.from_kernelbench(SPEC),
        executor="cuda",
        runs_dir=tmp_path,
        budget=Budget(steps=3),
    )
    assert result.status is RunStatus.SUCCEEDED, result.reason
    measured = [step for step in result.steps if step.status == "PASSED"]
    assert all(step.time_us for step in measured)
    for step in measured[1:]:
        assert "interval" in step.reason
