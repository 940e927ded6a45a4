"""From counters to a digest: which bottleneck, by which readings, and whose fault it is.

The rules are tried in the order of ``_RULES``; the first that applies names the bottleneck. A
waste that makes a resource look busy comes before the resource: registers that are spilled and
banks that conflict saturate the caches, and the remedy is not more bandwidth.
"""

from collections.abc import Callable
from typing import NamedTuple

from pydantic import JsonValue

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.report import KernelCounters
from cutegen.measurement.nsight.structural import structural_readings
from cutegen.measurement.profile import Bottleneck, Profile, Reading
from cutegen.measurement.timing import Measurement, Roofline
from cutegen.spec import KernelSpec

_OWN = "CuTeGen's own choice"
_SOL = "Nsight Compute's rule SOLBottleneck"
BUSY = 60.0  # per cent of peak
SATURATED = 80.0
AT_THE_LIMIT = 0.95
LOCAL_SHARE = 0.1
CONFLICT_SHARE = 0.3
LOW_OCCUPANCY = 50.0
UNEVEN = 0.6
SHORT_US = 5.0
_PER_CENT = "% of peak"


class Counts(NamedTuple):
    """What a rule looks at: the kernel that takes longest, and what its call should take."""

    kernel: KernelCounters
    roofline: Roofline | None
    spilled_bytes: int

    def get(self, metric: str) -> float:
        """A metric's value, 0 where it was not counted."""
        return self.kernel.value(metric) or 0.0

    def has(self, *names: str) -> bool:
        """Whether all of these were counted."""
        return all(self.kernel.value(name) is not None for name in names)


class Named(NamedTuple):
    """A rule's answer."""

    bottleneck: Bottleneck
    evidence: str
    readings: tuple[Reading, ...]


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
        static: What is known without counters; its facts are kept.
    """
    longest = max(kernels, key=lambda kernel: kernel.value(m.DURATION) or 0.0)
    spilled = sum(
        value
        for name in ("spill_store_bytes", "spill_load_bytes")
        if isinstance(value := static.facts.get(name), int)
    )
    counts = Counts(longest, measurement.roofline, spilled)
    named = next(filter(None, (rule(counts) for rule in _RULES)), None) or _unknown(counts)
    missing = [name for name in _NEEDED if not counts.has(name)]
    return Profile(
        source="ncu",
        bottleneck=named.bottleneck,
        evidence=named.evidence,
        readings=named.readings,
        structural=structural_readings(spec, counts.kernel, len(kernels), measurement),
        unknown=f"not counted on this device: {', '.join(missing)}" if missing else "",
        facts={**static.facts, **_facts(kernels, longest)},
    )


def _facts(kernels: tuple[KernelCounters, ...], longest: KernelCounters) -> dict[str, JsonValue]:
    """What the tuner may want beside the readings; rounded, in the units of the names."""
    total = sum(kernel.value(m.DURATION) or 0.0 for kernel in kernels)
    facts: dict[str, JsonValue] = {"profiled_kernel": longest.name[:120]}
    if len(kernels) > 1:
        facts["kernels_of_the_call"] = len(kernels)
        facts["its_share_of_the_time"] = round((longest.value(m.DURATION) or 0.0) / total, 3)
    for name, metric, scale in (
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
    ):
        value = longest.value(metric)
        if value is not None:
            facts[name] = round(value * scale, 2)
    for pipe, share in pipes(longest)[:2]:
        facts[f"busy: {pipe}"] = f"{share:.0f} %"
    for reason, cycles in stalls(longest)[:3]:
        facts[f"stalled on {reason}"] = f"{cycles:.2f} cycles per instruction"
    if longest.hot:
        facts["hottest instructions"] = "; ".join(
            f"{spot.instruction}{f' (line {spot.line})' if spot.line else ''}: {spot.share:.0%}"
            f"{f', {spot.reason}' if spot.reason else ''}"
            for spot in longest.hot[:3]
        )
    return facts


def pipes(kernel: KernelCounters) -> list[tuple[str, float]]:
    """Pipes of the multiprocessor and how busy they are (per cent), busiest first."""
    found: dict[str, float] = {}
    for metric, name in m.PIPES.items():
        found[name] = max(found.get(name, 0.0), kernel.value(metric) or 0.0)
    return sorted(found.items(), key=lambda item: -item[1])


def stalls(kernel: KernelCounters) -> list[tuple[str, float]]:
    """Why warps wait and for how many cycles per issued instruction, longest first."""
    found = {
        name.removeprefix(m.STALL_PREFIX).removesuffix(m.STALL_SUFFIX): counter.value
        for name, counter in kernel.counters.items()
        if name.startswith(m.STALL_PREFIX) and name.endswith(m.STALL_SUFFIX)
    }
    found.pop("selected", None)  # a warp that issues does not wait
    return sorted(found.items(), key=lambda item: -item[1])


def _spills(c: Counts) -> Named | None:
    local = c.get(m.LOCAL_LOAD_SECTORS) + c.get(m.LOCAL_STORE_SECTORS)
    everything = local + c.get(m.GLOBAL_LOAD_SECTORS) + c.get(m.GLOBAL_STORE_SECTORS)
    if not everything or local / everything < LOCAL_SHARE:
        return None
    reading = Reading(
        metric="l1tex__t_sectors_pipe_lsu_mem_local / (local + global)",
        value=local / everything,
        rule=f"from {LOCAL_SHARE:.0%} on local memory is what the caches are busy with",
        rule_source=_OWN,
        at_the_limit="0",
    )
    spilled = f"; ptxas spills {c.spilled_bytes} bytes" if c.spilled_bytes else ""
    return Named(
        Bottleneck.SPILLS,
        f"{local / everything:.0%} of the sectors that L1 serves are local memory, at "
        f"{c.get(m.REGISTERS):.0f} registers per thread{spilled}",
        (reading,),
    )


def _launch(c: Counts) -> Named | None:
    blocks, multiprocessors = c.get(m.GRID), c.get(m.MULTIPROCESSORS)
    if multiprocessors and blocks < multiprocessors:
        reading = Reading(
            metric=m.GRID,
            value=blocks,
            unit="blocks",
            rule=f"fewer than the {multiprocessors:.0f} multiprocessors leave some idle",
            rule_source="Nsight Compute's rule LaunchConfiguration",
            at_the_limit=f"{multiprocessors:.0f} or a multiple of it",
        )
        return Named(
            Bottleneck.LAUNCH,
            f"{blocks:.0f} blocks for {multiprocessors:.0f} multiprocessors",
            (reading,),
        )
    duration_us = c.get(m.DURATION) / 1e3
    if 0 < duration_us < SHORT_US and c.get(m.DRAM_THROUGHPUT) < BUSY:
        reading = Reading(
            metric=m.DURATION,
            value=duration_us,
            unit="µs",
            rule=f"below {SHORT_US:g} µs launch, ramp-up and tail are most of it",
            rule_source=_OWN,
        )
        return Named(Bottleneck.LAUNCH, f"the kernel ends after {duration_us:.1f} µs", (reading,))
    return None


def _conflicts(c: Counts) -> Named | None:
    total = c.get(m.SHARED_LOAD_WAVEFRONTS) + c.get(m.SHARED_STORE_WAVEFRONTS)
    if c.has(m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_IDEAL):
        total = c.get(m.SHARED_WAVEFRONTS)
        lost = total - c.get(m.SHARED_WAVEFRONTS_IDEAL)
        metric = f"({m.SHARED_WAVEFRONTS} - {m.SHARED_WAVEFRONTS_IDEAL}) / {m.SHARED_WAVEFRONTS}"
    else:
        lost = c.get(m.SHARED_LOAD_CONFLICTS) + c.get(m.SHARED_STORE_CONFLICTS)
        metric = "l1tex__data_bank_conflicts / wavefronts, mem_shared"
    if not total or lost / total < CONFLICT_SHARE or c.get(m.L1_THROUGHPUT) < BUSY:
        return None
    readings = (
        Reading(
            metric=metric,
            value=lost / total,
            unit="of the passes",
            rule=f"from {CONFLICT_SHARE:.0%} on passes are repeated for conflicts, not for data",
            rule_source="Nsight Compute's rule SharedMemoryConflicts; the share is " + _OWN,
            at_the_limit="0",
        ),
        _busy(c, m.L1_THROUGHPUT),
    )
    return Named(
        Bottleneck.BANK_CONFLICTS,
        f"{lost / total:.0%} of the passes over shared memory repeat an access whose banks "
        f"conflict; {total:.3g} would be {total - lost:.3g}",
        readings,
    )


def _busy(c: Counts, metric: str, at_the_limit: str = "") -> Reading:
    return Reading(
        metric=metric,
        value=c.get(metric),
        unit=_PER_CENT,
        rule=f"from {BUSY:.0f} % on it is what is short, from {SATURATED:.0f} % saturated",
        rule_source=_SOL,
        at_the_limit=at_the_limit,
    )


def _at_the_limit(c: Counts) -> Named | None:
    if c.roofline is None or c.roofline.fraction < AT_THE_LIMIT:
        return None
    reading = Reading(
        metric="roofline_fraction",
        value=c.roofline.fraction,
        rule=f"from {AT_THE_LIMIT:.0%} on little is left to win",
        rule_source="the ceilings measured on this device",
        at_the_limit="1",
    )
    return Named(
        Bottleneck.AT_THE_LIMIT,
        f"the call reaches {c.roofline.fraction:.0%} of what the {c.roofline.bound} roofline "
        f"allows ({c.roofline.floor_us:.1f} µs)",
        (reading, _busy(c, m.DRAM_THROUGHPUT, _copy_share(c))),
    )


def _compute(c: Counts) -> Named | None:
    busiest = pipes(c.kernel)
    if not busiest:
        return None
    pipe, share = busiest[0]
    if share < BUSY or share < c.get(m.DRAM_THROUGHPUT):
        return None
    tensor = pipe == "the tensor cores"
    if not tensor and c.get(m.SM_THROUGHPUT) < c.get(m.MEMORY_THROUGHPUT):
        return None
    metric = max(
        (name for name, pipe_name in m.PIPES.items() if pipe_name == pipe),
        key=c.get,
    )
    return Named(
        Bottleneck.TENSOR if tensor else Bottleneck.COMPUTE,
        f"{pipe} {'are' if tensor else 'is'} busy {share:.0f} % of the time{_of_the_floor(c)}",
        (_busy(c, metric, "100 % of peak, as far as power and clocks allow"),),
    )


def _memory(c: Counts) -> Named | None:
    levels = {
        "DRAM": m.DRAM_THROUGHPUT,
        "the L2 cache": m.L2_THROUGHPUT,
        "the L1 cache": m.L1_THROUGHPUT,
    }
    # a level further out is the cause where it is as busy as one further in
    name = next((n for n, metric in levels.items() if c.get(metric) >= BUSY), "")
    if not name:
        return None
    limit = _copy_share(c) if name == "DRAM" else ""
    return Named(
        Bottleneck.MEMORY,
        f"{name} is busy {c.get(levels[name]):.0f} % of the time{_of_the_floor(c)}",
        (_busy(c, levels[name], limit), *_traffic(c)),
    )


def _occupancy(c: Counts) -> Named | None:
    possible, achieved = c.get(m.WARPS_POSSIBLE), c.get(m.WARPS_ACTIVE)
    if not possible:
        return None
    if possible < LOW_OCCUPANCY:
        limits = {
            name: c.get(metric) for name, metric in m.OCCUPANCY_LIMITS.items() if c.has(metric)
        }
        limiter = min(limits, key=lambda name: limits[name], default="not known")
        reading = Reading(
            metric=m.WARPS_POSSIBLE,
            value=possible,
            unit="% of the warps",
            rule=f"below {LOW_OCCUPANCY:.0f} %, with no resource busy, latency stays uncovered",
            rule_source=_OWN,
            at_the_limit="as many warps as cover the latency; 100 % is not needed",
        )
        return Named(
            Bottleneck.OCCUPANCY,
            f"{possible:.0f} % of the warps fit a multiprocessor, limited by {limiter}, and no "
            f"resource is busy; {_waits(c)}",
            (reading, *_idle(c)),
        )
    if achieved < UNEVEN * possible:
        reading = Reading(
            metric=f"{m.WARPS_ACTIVE} / {m.WARPS_POSSIBLE}",
            value=achieved / possible,
            rule=f"below {UNEVEN:.0%} blocks end at different times, or too few were launched",
            rule_source="Nsight Compute's rule AchievedOccupancy; the share is " + _OWN,
            at_the_limit="1",
        )
        return Named(
            Bottleneck.LAUNCH,
            f"{achieved:.0f} % of the warps are active where {possible:.0f} % fit: "
            f"{c.get(m.WAVES):.2g} waves of blocks",
            (reading,),
        )
    return None


def _latency(c: Counts) -> Named | None:
    if not c.has(m.SM_THROUGHPUT, m.MEMORY_THROUGHPUT):
        return None
    return Named(
        Bottleneck.LATENCY,
        f"neither the multiprocessors ({c.get(m.SM_THROUGHPUT):.0f} %) nor the memory system "
        f"({c.get(m.MEMORY_THROUGHPUT):.0f} %) are busy: {_waits(c)}",
        (*_idle(c), *_traffic(c)),
    )


def _unknown(c: Counts) -> Named:
    return Named(
        Bottleneck.UNKNOWN,
        f"the counters that tell are missing ({len(c.kernel.counters)} were read)",
        (),
    )


def _idle(c: Counts) -> tuple[Reading, ...]:
    """The speed of light of both sides, and the longest stall."""
    readings = [_busy(c, m.SM_THROUGHPUT), _busy(c, m.MEMORY_THROUGHPUT)]
    waits = stalls(c.kernel)
    if waits:
        reason, cycles = waits[0]
        readings.insert(
            0,
            Reading(
                metric=f"{m.STALL_PREFIX}{reason}{m.STALL_SUFFIX}",
                value=cycles,
                unit="cycles per instruction",
                rule="the longest of the waits",
                rule_source="Nsight Compute's rule CPIStall",
                at_the_limit="0",
            ),
        )
    return tuple(readings)


def _waits(c: Counts) -> str:
    waits = stalls(c.kernel)
    if not waits:
        return "why warps wait was not counted"
    total = sum(cycles for _, cycles in waits)
    reason, cycles = waits[0]
    return f"of {total:.1f} cycles between two instructions of a warp, {cycles:.1f} are {reason}"


def _traffic(c: Counts) -> tuple[Reading, ...]:
    if c.roofline is None or not c.has(m.DRAM_READ, m.DRAM_WRITTEN):
        return ()
    moved = c.get(m.DRAM_READ) + c.get(m.DRAM_WRITTEN)
    return (
        Reading(
            metric=f"({m.DRAM_READ} + {m.DRAM_WRITTEN}) / least bytes",
            value=moved / c.roofline.bytes_moved,
            rule="above 1 data comes more than once (below it, outputs stay in L2)",
            rule_source="the bytes counted from the traced reference",
            at_the_limit="1",
        ),
    )


def _copy_share(c: Counts) -> str:
    """What a copy reaches of DRAM's peak on this device."""
    seconds, share = c.get(m.DURATION) / 1e9, c.get(m.DRAM_THROUGHPUT) / 100
    moved = c.get(m.DRAM_READ) + c.get(m.DRAM_WRITTEN)
    if c.roofline is None or not (seconds and share and moved):
        return ""
    peak = moved / seconds / share
    return f"about {c.roofline.copy_bytes_per_s / peak:.0%} of peak, as a copy on this device"


def _of_the_floor(c: Counts) -> str:
    if c.roofline is None:
        return ""
    return (
        f"; the call reaches {c.roofline.fraction:.0%} of what the {c.roofline.bound} roofline "
        f"allows ({c.roofline.floor_us:.1f} µs)"
    )


_NEEDED = (m.SM_THROUGHPUT, m.MEMORY_THROUGHPUT, m.DRAM_THROUGHPUT, m.WARPS_ACTIVE)
_RULES: tuple[Callable[[Counts], Named | None], ...] = (
    _spills,
    _launch,
    _at_the_limit,
    _conflicts,
    _compute,
    _memory,
    _occupancy,
    _latency,
)
