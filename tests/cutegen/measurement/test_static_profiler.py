from pathlib import Path

import pytest
import torch

from cutegen.kernel import args_header
from cutegen.measurement.occupancy import occupancy
from cutegen.measurement.profile import Bottleneck, Profile
from cutegen.measurement.static import StaticProfiler
from cutegen.measurement.timing import Measurement, MeasurementState, Roofline, Timing
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult, KernelResources

TESTS = Path(__file__).parents[2]
SWISH = (TESTS / "cutegen/structures/swish_vectorized.cu").read_text()
UNMEASURED = Measurement(state=MeasurementState.UNMEASURED, reason="no GPU here")


@pytest.mark.parametrize(
    ("arch", "kernel", "expected"),
    [
        ("sm_90a", (256, 32, 0), (8, 1.0, "warps")),
        ("sm_90a", (256, 64, 0), (4, 0.5, "registers")),
        ("sm_90a", (256, 33, 0), (6, 0.75, "registers")),  # 33 are given out as 40
        ("sm_90a", (32, 16, 0), (32, 0.5, "blocks")),
        ("sm_90a", (128, 168, 100 * 1024), (2, 0.125, "shared-memory")),
        ("sm_90a", (256, 255, 0), (1, 0.125, "registers")),
        ("sm_80", (128, 32, 48 * 1024), (3, 0.1875, "shared-memory")),
        ("sm_86", (256, 40, 0), (6, 1.0, "warps")),
        ("sm_89", (1024, 32, 0), (1, 2 / 3, "warps")),
        ("sm_100a", (1024, 32, 0), (2, 1.0, "warps")),
    ],
)
def test_known_occupancies(
    arch: str, kernel: tuple[int, int, int], expected: tuple[int, float, str]
) -> None:
    blocks, fraction, limiter = expected
    found = occupancy(arch, *kernel)
    assert found is not None
    assert (found.blocks, found.limiter) == (blocks, limiter)
    assert found.fraction == pytest.approx(fraction)


def test_what_cannot_be_launched_or_known_has_no_occupancy() -> None:
    assert occupancy("sm_90a", 2048, 32, 0) is None
    assert occupancy("sm_90a", 256, 32, 228 * 1024) is None
    assert occupancy("sm_90a", 1024, 255, 0) is None
    assert occupancy("sm_50", 256, 32, 0) is None


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_kernelbench(TESTS / "kernelbench/level1/25_Swish.py")


def build(registers: int = 32, spill_store_bytes: int = 0) -> BuildResult:
    kernel = KernelResources(
        kernel="swish", registers=registers, spill_store_bytes=spill_store_bytes
    )
    return BuildResult(status=Status.PASSED, toolchain="nvcc", resources=(kernel,))


def measured(fraction: float, bound: str = "memory", floor_us: float = 3000) -> Measurement:
    return Measurement(
        state=MeasurementState.MEASURED,
        candidate=Timing(samples_us=(floor_us / fraction,) * 50),
        roofline=Roofline(
            bytes_moved=12884901888,
            flops=0,
            copy_bytes_per_s=4.27e12,
            flops_per_s=120e12,
            floor_us=floor_us,
            bound=bound,
            fraction=fraction,
        ),
    )


def decide(spec: KernelSpec, result: BuildResult, measurement: Measurement) -> Profile:
    return StaticProfiler("sm_90a").profile(spec, SWISH, result, measurement)


@pytest.mark.parametrize(
    ("result", "measurement", "bottleneck", "words"),
    [
        (build(255, spill_store_bytes=96), measured(0.99), Bottleneck.SPILLS, "spills 96 bytes"),
        (build(), measured(0.97), Bottleneck.AT_THE_LIMIT, "97%"),
        (build(), measured(0.85), Bottleneck.MEMORY, "DRAM"),
        (build(), measured(0.85, "compute"), Bottleneck.COMPUTE, "arithmetic"),
        (build(), measured(0.3), Bottleneck.UNKNOWN, "cannot be seen without counters"),
        (build(255), measured(0.3), Bottleneck.OCCUPANCY, "limited by registers"),
        (build(), measured(0.3, floor_us=1.0), Bottleneck.LAUNCH, "launch"),
        (build(), UNMEASURED, Bottleneck.UNKNOWN, "no GPU here"),
        (build(255), UNMEASURED, Bottleneck.OCCUPANCY, "only 12%"),
    ],
)
def test_the_rules_in_their_order(
    spec: KernelSpec,
    result: BuildResult,
    measurement: Measurement,
    bottleneck: Bottleneck,
    words: str,
) -> None:
    profile = decide(spec, result, measurement)
    assert (profile.source, profile.bottleneck) == ("static", bottleneck)
    assert words in profile.evidence


def test_without_anything_it_says_that_it_does_not_know(spec: KernelSpec) -> None:
    empty = BuildResult(status=Status.PASSED, toolchain="emulator")
    profile = decide(spec, empty, UNMEASURED)
    assert profile.bottleneck is Bottleneck.UNKNOWN
    assert "not known" in profile.evidence


def test_facts_hold_rates_in_plain_units(spec: KernelSpec) -> None:
    facts = decide(spec, build(), measured(0.5)).facts
    assert facts["occupancy"] == 1.0
    assert facts["registers"] == 32
    assert facts["gigabytes_per_s"] == pytest.approx(12884901888 / 6e-3 / 1e9, abs=0.1)


@pytest.fixture(scope="module")
def scalar(tmp_path_factory: pytest.TempPathFactory) -> tuple[KernelSpec, str, BuildResult]:
    """Swish by scalar accesses, built for the H200."""
    spec = KernelSpec.from_callable(torch.nn.functional.silu, [torch.randn(64, 64)])
    source = """
    #include "cutegen_args.h"
    __global__ void swish(float const* x, float* out, int64_t size) {
      int64_t const i = int64_t(blockIdx.x) * 256 + threadIdx.x;
      if (i < size) out[i] = x[i] / (1.f + __expf(-x[i]));
    }
    extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
      int64_t const size = a->input_shape[0] * a->input_shape[1];
      swish<<<unsigned((size + 255) / 256), 256, 0, a->stream>>>(a->input, a->out, size);
      return cudaGetLastError();
    }
    """
    toolchain = NvccToolchain(cache_dir=tmp_path_factory.mktemp("cache"))
    return spec, source, toolchain.build(BuildRequest(source=source, header=args_header(spec)))


def test_the_machine_code_is_shown_and_narrow_loads_are_the_structures_fault(
    scalar: tuple[KernelSpec, str, BuildResult],
) -> None:
    spec, source, result = scalar
    profile = StaticProfiler("sm_90a").profile(spec, source, result, measured(0.6))
    assert profile.bottleneck is Bottleneck.UNKNOWN  # waiting warps or DRAM: both look like this
    assert profile.facts["global loads"] == "1 of 32 bits"
    assert "special functions" in profile.facts
    assert [reading.metric for reading in profile.structural] == ["widest global load"]
    near = StaticProfiler("sm_90a").profile(spec, source, result, measured(0.97))
    assert near.structural == ()


def test_a_product_without_tensor_cores_is_the_structures_fault(
    scalar: tuple[KernelSpec, str, BuildResult],
) -> None:
    spec, source, result = scalar
    profile = StaticProfiler("sm_90a").profile(spec, source, result, measured(0.2, "compute"))
    assert [reading.metric for reading in profile.structural] == ["tensor-core products"]
