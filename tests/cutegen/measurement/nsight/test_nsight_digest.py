"""The rules, each on counters that say one thing; and a real page of an H200."""

from pathlib import Path

import pytest
import torch

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.digest import digest
from cutegen.measurement.nsight.report import Counter, KernelCounters, parse_raw
from cutegen.measurement.profile import Bottleneck, Profile
from cutegen.measurement.timing import Measurement, MeasurementState, Roofline, Timing
from cutegen.spec import KernelSpec

PAGES = Path(__file__).parent / "pages"
CALM = {
    m.DURATION: 300_000.0,
    m.SM_THROUGHPUT: 30.0,
    m.MEMORY_THROUGHPUT: 40.0,
    m.DRAM_THROUGHPUT: 40.0,
    m.L1_THROUGHPUT: 30.0,
    m.L2_THROUGHPUT: 30.0,
    m.WARPS_ACTIVE: 90.0,
    m.WARPS_POSSIBLE: 100.0,
    m.GRID: 4096.0,
    m.MULTIPROCESSORS: 132.0,
    m.GLOBAL_LOAD_SECTORS: 1e6,
    m.GLOBAL_STORE_SECTORS: 1e6,
    m.LOAD_BYTES_PER_SECTOR: 32.0,
    m.STORE_BYTES_PER_SECTOR: 32.0,
    f"{m.STALL_PREFIX}long_scoreboard{m.STALL_SUFFIX}": 18.0,
    f"{m.STALL_PREFIX}selected{m.STALL_SUFFIX}": 1.0,
}
STATIC = Profile(source="static", bottleneck=Bottleneck.UNKNOWN, evidence="", facts={"arch": "x"})


@pytest.fixture(scope="module")
def swish() -> KernelSpec:
    return KernelSpec.from_callable(torch.nn.functional.silu, [torch.randn(4096, 4096)])


@pytest.fixture(scope="module")
def product() -> KernelSpec:
    return KernelSpec.from_callable(torch.matmul, [torch.randn(256, 256), torch.randn(256, 256)])


def kernel(**changes: float) -> KernelCounters:
    values = CALM | {getattr(m, name): value for name, value in changes.items()}
    return KernelCounters(
        name="swish", counters={n: Counter(value=v, unit="") for n, v in values.items()}
    )


def measured(spec: KernelSpec, fraction: float, bound: str = "memory") -> Measurement:
    return Measurement(
        state=MeasurementState.MEASURED,
        candidate=Timing(samples_us=(100 / fraction,) * 50),
        roofline=Roofline(
            bytes_moved=spec.timed.nbytes,
            flops=0,
            copy_bytes_per_s=4.2e12,
            flops_per_s=1e14,
            floor_us=100.0,
            bound=bound,
            fraction=fraction,
        ),
    )


def told(spec: KernelSpec, *kernels: KernelCounters, fraction: float = 0.4) -> Profile:
    return digest(spec, kernels, measured(spec, fraction), STATIC)


@pytest.mark.parametrize(
    ("changes", "bottleneck", "words"),
    [
        ({}, Bottleneck.LATENCY, "long_scoreboard"),
        ({"LOCAL_LOAD_SECTORS": 5e6}, Bottleneck.SPILLS, "71% of the sectors"),
        ({"GRID": 100.0}, Bottleneck.LAUNCH, "100 blocks for 132"),
        ({"DURATION": 3000.0}, Bottleneck.LAUNCH, "3.0 µs"),
        ({"WARPS_ACTIVE": 40.0}, Bottleneck.LAUNCH, "40 % of the warps"),
        ({"WARPS_POSSIBLE": 25.0, "WARPS_ACTIVE": 24.0}, Bottleneck.OCCUPANCY, "25 % of the warps"),
        ({"DRAM_THROUGHPUT": 85.0, "MEMORY_THROUGHPUT": 85.0}, Bottleneck.MEMORY, "DRAM is busy"),
        ({"L2_THROUGHPUT": 85.0, "MEMORY_THROUGHPUT": 85.0}, Bottleneck.MEMORY, "the L2 cache"),
        ({"L2_THROUGHPUT": 65.0, "DRAM_THROUGHPUT": 53.0}, Bottleneck.LATENCY, "long_scoreboard"),
        ({"ISSUED": 0.87, "SM_THROUGHPUT": 87.0}, Bottleneck.COMPUTE, "issue slots are busy 87 %"),
        ({"TENSOR_PIPE": 88.0, "SM_THROUGHPUT": 88.0}, Bottleneck.TENSOR, "tensor cores are busy"),
        (
            {
                "SHARED_WAVEFRONTS": 33e6,
                "SHARED_WAVEFRONTS_IDEAL": 2e6,
                "L1_THROUGHPUT": 95.0,
                "MEMORY_THROUGHPUT": 95.0,
            },
            Bottleneck.BANK_CONFLICTS,
            "3.3e+07 would be 2e+06",
        ),
        (
            {
                "SHARED_LOAD_WAVEFRONTS": 33e6,
                "SHARED_LOAD_CONFLICTS": 31e6,
                "L1_THROUGHPUT": 95.0,
            },
            Bottleneck.BANK_CONFLICTS,
            "94% of the passes",
        ),
    ],
)
def test_each_rule_on_its_own(
    swish: KernelSpec, changes: dict[str, float], bottleneck: Bottleneck, words: str
) -> None:
    profile = told(swish, kernel(**changes))
    assert (profile.source, profile.bottleneck) == ("ncu", bottleneck)
    assert words in profile.evidence
    assert profile.readings
    assert all(reading.rule and reading.rule_source for reading in profile.readings)


def test_a_busy_pipe_other_than_the_tensor_cores(swish: KernelSpec) -> None:
    values = kernel(SM_THROUGHPUT=92.0).counters
    pipe = "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"
    busy = KernelCounters(name="k", counters={**values, pipe: Counter(value=92.0, unit="%")})
    profile = told(swish, busy)
    assert profile.bottleneck is Bottleneck.COMPUTE
    assert "special-function pipe" in profile.evidence


def test_at_the_roofline_nothing_is_left_whatever_is_busy(swish: KernelSpec) -> None:
    profile = told(swish, kernel(DRAM_THROUGHPUT=93.0), fraction=0.97)
    assert profile.bottleneck is Bottleneck.AT_THE_LIMIT


def test_missing_counters_are_named_and_nothing_is_guessed(swish: KernelSpec) -> None:
    bare = KernelCounters(name="k", counters={m.DURATION: Counter(value=1e5, unit="ns")})
    profile = told(swish, bare)
    assert profile.bottleneck is Bottleneck.UNKNOWN
    assert m.SM_THROUGHPUT in profile.unknown


def test_the_longest_kernel_decides_and_several_are_the_structures_fault(
    swish: KernelSpec,
) -> None:
    short = kernel(DURATION=10_000.0, DRAM_THROUGHPUT=99.0)
    profile = told(swish, short, kernel())
    assert profile.bottleneck is Bottleneck.LATENCY
    assert profile.facts["kernels_of_the_call"] == 2
    assert [reading.metric for reading in profile.structural] == ["kernels of one call"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"LOAD_BYTES_PER_SECTOR": 4.0}, "access pattern"),
        ({"DRAM_READ": 3e8, "DRAM_WRITTEN": 3e8}, "passes must be merged"),
        ({"GRID": 8.0}, "split-K"),
        (
            {"SHARED_WAVEFRONTS": 33e6, "SHARED_WAVEFRONTS_IDEAL": 2e6, "L1_THROUGHPUT": 95.0},
            "swizzled",
        ),
    ],
)
def test_what_no_parameter_cures_is_told_apart(
    swish: KernelSpec, changes: dict[str, float], words: str
) -> None:
    (reading,) = told(swish, kernel(**changes)).structural
    assert words in reading.rule
    assert told(swish, kernel(**changes), fraction=0.97).structural == ()


def test_an_access_pattern_is_no_fault_where_something_else_is_short(swish: KernelSpec) -> None:
    changes = {"STORE_BYTES_PER_SECTOR": 8.0, "TENSOR_PIPE": 93.0, "SM_THROUGHPUT": 93.0}
    assert told(swish, kernel(**changes)).structural == ()


def test_a_product_that_leaves_the_tensor_cores_idle_has_the_wrong_structure(
    product: KernelSpec,
) -> None:
    counters = (kernel(TENSOR_PIPE=0.0),)
    profile = digest(product, counters, measured(product, 0.4, "compute"), STATIC)
    assert [reading.metric for reading in profile.structural] == [m.TENSOR_PIPE]
    assert told(product, *counters).structural == ()


@pytest.mark.parametrize(
    ("page", "bottleneck", "words", "structural"),
    [
        ("torch_silu", Bottleneck.MEMORY, "DRAM is busy 71 %", ""),
        ("scalar_swish", Bottleneck.LATENCY, "24.4 are long_scoreboard", ""),
        ("tree_softmax", Bottleneck.COMPUTE, "the issue slots are busy 87 %", ""),
        ("transpose", Bottleneck.BANK_CONFLICTS, "6.92e+07 would be 4.19e+06", "swizzled"),
        ("spilling", Bottleneck.SPILLS, "99% of the sectors", ""),
        ("tensor", Bottleneck.TENSOR, "the tensor cores are busy 93 %", ""),
    ],
)
def test_kernels_that_were_counted_on_an_h200(
    page: str, bottleneck: Bottleneck, words: str, structural: str
) -> None:
    counters = parse_raw((PAGES / f"{page}.raw.csv").read_text())
    # one spec for all: only its bytes enter, and only where DRAM's are looked at
    spec = KernelSpec.from_callable(
        torch.nn.functional.silu, [torch.empty(16384, 16384, device="meta")]
    )
    profile = digest(spec, counters, measured(spec, 0.6), STATIC)
    assert profile.bottleneck is bottleneck
    assert words in profile.evidence
    assert profile.unknown == ""
    rules = [reading.rule for reading in profile.structural]
    assert structural in rules[0] if structural else not rules
