"""From counters to a digest for the tuner: the bottleneck, its readings, a few facts."""

from pydantic import JsonValue

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.readings import Counts, pipes, stalls
from cutegen.measurement.nsight.report import KernelCounters
from cutegen.measurement.nsight.rules import name_bottleneck
from cutegen.measurement.nsight.structural import structural_readings
from cutegen.measurement.profile import Bottleneck, Profile
from cutegen.measurement.timing import Measurement
from cutegen.spec import KernelSpec

_NEEDED = (m.SM_THROUGHPUT, m.MEMORY_THROUGHPUT, m.DRAM_THROUGHPUT, m.WARPS_ACTIVE)
_NAME_LIMIT = 120
_FACTS = (
    ("counted_time_us", m.DURATION, 1e-3),
    ("sm_clock_mhz", m.CLOCK, 1e-6),
    ("multiprocessors_busy_pct", m.SM_THROUGHPUT, 1),
    ("memory_system_busy_pct", m.MEMORY_THROUGHPUT, 1),
    ("dram_busy_pct", m.DRAM_THROUGHPUT, 1),
    ("l2_busy_pct", m.L2_THROUGHPUT, 1),
    ("l1_busy_pct", m.L1_THROUGHPUT, 1),
    ("dram_read_mb", m.DRAM_READ, 1e-6),
    ("dram_written_mb", m.DRAM_WRITTEN, 1e-6),
    ("l2_hit_pct", m.L2_HIT_RATE, 1),
    ("l1_hit_pct", m.L1_HIT_RATE, 1),
    ("achieved_occupancy_pct", m.WARPS_ACTIVE, 1),
    ("theoretical_occupancy_pct", m.WARPS_POSSIBLE, 1),
    ("registers_per_thread", m.REGISTERS, 1),
    ("blocks", m.GRID, 1),
    ("threads_per_block", m.BLOCK, 1),
    ("waves", m.WAVES, 1),
    ("issue_slots_used", m.ISSUED, 1),
    ("warps_ready_per_cycle", m.ELIGIBLE, 1),
)
"""Name, metric, and what takes its unit to that of the name."""

_COUNTED_TOO = frozenset(
    ("kernel", "registers", "stack_bytes", "static_smem_bytes", "occupancy", "blocks_per_sm")
)
"""Static facts that the counters know better."""


def digest(
    spec: KernelSpec,
    kernels: tuple[KernelCounters, ...],
    measurement: Measurement,
    static: Profile,
) -> Profile:
    """Digest the counters of one call; the kernel that takes longest decides.

    Args:
        spec: What the kernels implement.
        kernels: At least one.
        measurement: The time of the call, which counters do not give: they slow it down.
        static: What is known without counters; the facts that were not counted are kept.
    """
    longest = max(kernels, key=lambda kernel: kernel.value(m.DURATION) or 0.0)
    spilled = sum(
        value
        for name in ("spill_store_bytes", "spill_load_bytes")
        if isinstance(value := static.facts.get(name), int)
    )
    counts = Counts(longest, measurement.roofline, spilled)
    named = name_bottleneck(counts)
    missing = [name for name in _NEEDED if not counts.has(name)]
    return Profile(
        source="ncu",
        bottleneck=named.bottleneck,
        evidence=named.evidence,
        readings=named.readings,
        structural=structural_readings(spec, named.bottleneck, kernels, measurement)
        + (static.structural if named.bottleneck is Bottleneck.LATENCY else ()),
        unknown=f"not counted on this device: {', '.join(missing)}" if missing else "",
        facts={
            **{name: fact for name, fact in static.facts.items() if name not in _COUNTED_TOO},
            **_facts(kernels, longest),
        },
    )


def _facts(kernels: tuple[KernelCounters, ...], longest: KernelCounters) -> dict[str, JsonValue]:
    """What the tuner may want beside the readings; rounded, in the units of the names."""
    total = sum(kernel.value(m.DURATION) or 0.0 for kernel in kernels)
    facts: dict[str, JsonValue] = {"profiled_kernel": longest.name[:_NAME_LIMIT]}
    if len(kernels) > 1:
        facts["kernels_of_the_call"] = len(kernels)
        facts["its_share_of_the_time"] = round((longest.value(m.DURATION) or 0.0) / total, 3)
    for name, metric, scale in _FACTS:
        value = longest.value(metric)
        if value is not None:
            facts[name] = round(value * scale, 2)
    for pipe, share in pipes(longest)[:2]:
        facts[f"busy: {pipe}"] = f"{share:.0f} %"
    for reason, cycles in stalls(longest)[:3]:
        facts[f"stalled on {reason}"] = f"{cycles:.2f} cycles per instruction"
    for spot in longest.hot[:3]:
        facts[f"{spot.share:.0%} of the samples, line {spot.line}"] = (
            f"{spot.text} [{spot.instruction}{f', {spot.reason}' if spot.reason else ''}]"
        )
    return facts
