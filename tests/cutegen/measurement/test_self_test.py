"""The self-test: its kernels do what they claim; its bounds tell a true clock from a false one."""

import pytest
import torch
from pydantic import TypeAdapter

from cutegen.doctor import examine as look_around
from cutegen.execution.emulated import EmulatedExecutor
from cutegen.execution.protocol import EvaluationJob
from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.self_test import (
    COPY_BYTES,
    SelfTest,
    SelfTestState,
    Trial,
    examine,
    probes,
)
from cutegen.spec import KernelSpec, MathMode
from cutegen.status import Status

H200 = Ceilings(
    device="NVIDIA H200",
    driver="580",
    copy_bytes_per_s=4.23e12,
    library_flops_per_s=dict.fromkeys(MathMode, 50e12),
    l2_bytes=60 << 20,
)
TRUE = {
    "empty": 2.3,
    "copy": 2 * COPY_BYTES / 4.15e12 * 1e6,
    "sleep 200": 203.0,
    "sleep 1000": 1003.0,
    "elsewhere": 2.3,
}


def failed(at: dict[str, float], late_us: float = 900.0) -> list[str]:
    return [trial.name for trial in examine(at, late_us, H200) if not trial.passed]


def test_a_true_clock_passes() -> None:
    assert failed(TRUE) == []


@pytest.mark.parametrize(
    ("scale", "offset", "found_by"),
    [
        (1.1, 0.0, {"sleep 1000", "scale"}),  # a clock that runs fast
        (0.5, 0.0, {"copy", "sleep 200", "sleep 1000", "scale"}),
        (1.0, 30.0, {"empty", "sleep 200", "sleep 1000"}),  # the flush is timed along
        (0.001, 0.0, {"empty", "copy", "sleep 200", "sleep 1000", "scale"}),
    ],
)
def test_a_false_clock_is_found_out(scale: float, offset: float, found_by: set[str]) -> None:
    assert found_by <= set(failed({name: time * scale + offset for name, time in TRUE.items()}))


def test_blindness_to_other_streams_is_found_out() -> None:
    assert failed(TRUE, late_us=3.0) == ["elsewhere"]


def test_the_copy_copies() -> None:
    copy = next(probe for probe in probes() if probe.name == "copy")
    small = KernelSpec.from_callable(
        torch.clone, [torch.zeros(4096)], check_shapes=[[[4096]], [[1024]]]
    )
    verdict = EmulatedExecutor().evaluate(EvaluationJob(spec=small, source=copy.source))
    assert verdict.status is Status.PASSED, verdict.evidence


def test_only_one_probe_leaves_the_stream() -> None:
    elsewhere = [probe.name for probe in probes() if "kElsewhere = true" in probe.source]
    assert elsewhere == ["elsewhere"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a clock here")
def test_without_a_gpu_the_clock_is_unavailable_and_says_why() -> None:
    examination = look_around(self_test=True)
    assert examination.clock is not None
    assert examination.clock.state is SelfTestState.UNAVAILABLE
    assert "no CUDA device" in examination.clock.reason
    assert look_around().clock is None


def test_a_self_test_survives_json() -> None:
    trials = examine(TRUE, 900.0, H200)
    whole = SelfTest(state=SelfTestState.PASSED, trials=trials)
    again = TypeAdapter(SelfTest).validate_json(whole.model_dump_json())
    assert again == whole
    assert all(isinstance(trial, Trial) and trial.passed for trial in again.trials)
