"""One CuTe kernel for the tensor cores, with one TF32 pass and with three, in an fp32 spec.

The same file is judged on an H200 by tests/gpu/run_timing.py.
"""

import shutil
from pathlib import Path

import pytest
import torch

from cutegen.execution.emulated import EmulatedExecutor
from cutegen.execution.protocol import EvaluationJob
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.verdict import Verdict

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
KERNEL = Path(__file__).parents[2] / "gpu/kernels/matmul_tf32.cu"


def product(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:  # noqa: N803 - as KernelBench
    return A @ B


def verdict(passes: int, mode: str) -> Verdict:
    spec = KernelSpec.from_callable(
        product,
        [torch.zeros(32, 40), torch.zeros(40, 32)],
        math_mode=mode,
        check_shapes=[[[33, 72], [72, 31]]],
    )
    source = KERNEL.read_text().replace("kPasses = 3", f"kPasses = {passes}")
    return EmulatedExecutor().evaluate(EvaluationJob(spec=spec, source=source))


def test_three_passes_are_as_exact_as_fp32() -> None:
    found = verdict(3, "fp32")
    assert found.status is Status.PASSED, found.evidence


def test_one_pass_is_refused_as_fp32_and_welcome_as_tf32() -> None:
    refused = verdict(1, "fp32")
    assert refused.status is Status.PRECISION_DOWNGRADE
    assert "TF32" in refused.evidence.summary
    allowed = verdict(1, "tf32")
    assert allowed.status is Status.PASSED, allowed.evidence
