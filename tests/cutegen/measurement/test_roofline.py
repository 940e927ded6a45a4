from pathlib import Path

import pytest
import torch
from torch import nn

from cutegen.measurement.ceilings import Ceilings, cached_ceilings
from cutegen.measurement.measure import hidden_work, judge, late_work
from cutegen.measurement.roofline import refusal, roofline
from cutegen.measurement.timing import MeasurementState, Timing
from cutegen.measurement.work import count_work
from cutegen.spec import KernelSpec, MathMode

LEVEL_1 = Path(__file__).parents[2] / "kernelbench" / "level1"
# Measured on an H200 (the project's notes): copy, fp32, TF32, bf16 and fp16 products of 8192³.
H200 = Ceilings(
    device="NVIDIA H200",
    driver="580",
    copy_bytes_per_s=4.27e12,
    library_flops_per_s={
        MathMode.FP32: 51e12,
        MathMode.TF32: 359e12,
        MathMode.BF16: 685e12,
        MathMode.FP16: 620e12,
    },
    l2_bytes=50 << 20,
)


def steady(microseconds: float, wall_us: float = 0.0) -> Timing:
    walls = (microseconds + wall_us,) * 50 if wall_us else ()
    return Timing(samples_us=(microseconds,) * 50, wall_us=walls)


@pytest.fixture(scope="module")
def swish() -> KernelSpec:
    return KernelSpec.from_kernelbench(LEVEL_1 / "25_Swish.py")


@pytest.fixture(scope="module")
def matmul() -> KernelSpec:
    return KernelSpec.from_kernelbench(LEVEL_1 / "1_Square_matrix_multiplication_.py")


def test_swish_is_bound_by_its_bytes(swish: KernelSpec) -> None:
    work = count_work(swish)
    assert work.nbytes == 2 * 4096 * 393216 * 4
    assert (work.flops, work.certain_reads) == (0, work.nbytes // 2)
    found = roofline(swish, steady(3024), H200)
    assert (found.bound, found.flops) == ("memory", 0)
    assert found.floor_us == pytest.approx(3017.6, rel=1e-3)
    assert found.fraction == pytest.approx(0.998, abs=1e-3)


def test_the_square_product_is_bound_by_three_products_of_halves(matmul: KernelSpec) -> None:
    work = count_work(matmul)
    assert work.flops == work.certain_flops == 2 * 4096**3
    found = roofline(matmul, steady(2676), H200)
    assert (found.bound, found.flops_per_s) == ("compute", 620e12 / 3)
    assert found.floor_us == pytest.approx(2 * 4096**3 / (620e12 / 3) * 1e6)


def test_flops_of_every_kind_of_product() -> None:
    def flops(module: nn.Module, *inputs: torch.Tensor) -> tuple[int, int]:
        work = count_work(KernelSpec.from_module(module, inputs))
        return work.flops, work.certain_flops

    class Product(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.matmul(a, b)

    class Masked(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.triu(a @ b)

    class Einsum(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.einsum("bijl,lk->bijk", a, b)

    class Chain(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (a @ b) @ a

    square = torch.rand(64, 64)
    assert (
        flops(Product(), torch.rand(3, 64, 32), torch.rand(3, 32, 16))
        == (2 * 3 * 64 * 32 * 16,) * 2
    )
    assert flops(Product(), torch.rand(64, 32), torch.rand(32, 1)) == (2 * 64 * 32,) * 2
    assert flops(nn.Linear(32, 16), torch.rand(8, 32)) == (2 * 8 * 32 * 16,) * 2
    assert flops(Masked(), square, square.clone()) == (64**3 * 65 // 64, 0)
    assert flops(Chain(), square, square.clone()) == (4 * 64**3, 0)
    assert flops(Einsum(), torch.rand(2, 3, 5, 7), torch.rand(7, 11)) == (2 * 2310, 0)
    convolution = nn.Conv2d(4, 8, 3, bias=False)
    assert flops(convolution, torch.rand(2, 4, 10, 10)) == (2 * (2 * 8 * 8 * 8) * 4 * 9, 0)


def test_an_impossible_time_is_refused(swish: KernelSpec, matmul: KernelSpec) -> None:
    assert "too fast to be true" in refusal(swish, steady(1500), H200)
    assert refusal(swish, steady(3000), H200) == ""
    one_pass_tf32 = 2 * 4096**3 / 359e12 * 1e6
    assert "137.4 GFLOP in fp32" in refusal(matmul, steady(one_pass_tf32), H200)
    three_pass_at_the_peak = 2 * 4096**3 / 165e12 * 1e6
    assert refusal(matmul, steady(three_pass_at_the_peak), H200) == ""


def test_outputs_may_stay_in_the_cache() -> None:
    spec = KernelSpec.from_module(nn.ReLU(), (torch.rand(1024, 1024) - 0.5,))
    reads_us = 4 * 1024**2 / H200.copy_bytes_per_s * 1e6
    assert refusal(spec, steady(reads_us), H200) == ""
    assert refusal(spec, steady(reads_us / 2), H200)


def test_work_off_the_stream_is_refused() -> None:
    eager = steady(100, wall_us=150)
    assert hidden_work(steady(80, wall_us=170), eager) == ""
    assert "off the launch stream" in hidden_work(steady(5, wall_us=3000), eager)
    assert late_work([12.0] * 50, [9.0] * 50) == ""
    assert "after the stop event" in late_work([3000.0] * 50, [9.0] * 50)


def test_a_busy_host_is_no_hidden_work() -> None:
    """Ten runs side by side on an H200's host: waits of 0.4 to 2 ms, most calls delayed."""
    eager = steady(100, wall_us=370)
    delayed = [690.0] * 20 + [2200.0] * 30
    short = steady(56, wall_us=0).model_copy(update={"wall_us": tuple(56 + d for d in delayed)})
    assert hidden_work(short, eager) == ""
    worker = steady(56, wall_us=800)
    assert "800 µs more, where PyTorch's takes 370" in hidden_work(worker, eager)


def test_a_measurement_carries_every_timing_and_the_verdict_on_the_time(swish: KernelSpec) -> None:
    timings = {"candidate": steady(3100), "eager": steady(7462), "incumbent": steady(4000)}
    good = judge(swish, timings, H200, {"gpu": "NVIDIA H200"})
    assert good.state is MeasurementState.MEASURED
    assert good.speedup == pytest.approx(7462 / 3100)
    assert good.incumbent == timings["incumbent"]
    assert set(good.baselines) == {"eager"}
    bad = judge(swish, timings | {"candidate": steady(100)}, H200, {})
    assert bad.state is MeasurementState.REFUSED
    assert (bad.candidate, bad.speedup) == (steady(100), None)
    assert "too fast" in bad.reason


def test_ceilings_are_measured_once_per_device_and_driver(tmp_path: Path) -> None:
    measured: list[str] = []

    def measure() -> Ceilings:
        measured.append("now")
        return H200

    for _ in range(2):
        assert cached_ceilings(tmp_path, "NVIDIA H200", "580", measure) == H200
    assert len(measured) == 1
    cached_ceilings(tmp_path, "NVIDIA H200", "590", measure)
    next(tmp_path.glob("*580.json")).write_text("{}")
    cached_ceilings(tmp_path, "NVIDIA H200", "580", measure)
    assert len(measured) == 3
