"""The rules that name a bottleneck, in their order; the first that applies does.

A waste that makes a resource look busy comes before the resource: registers that are spilled and
banks that conflict saturate the caches, and the remedy is not more bandwidth.
"""

from collections.abc import Callable
from typing import NamedTuple

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.metrics import TENSOR_CORES
from cutegen.measurement.nsight.readings import (
    BUSY,
    ISSUE,
    OWN_CHOICE,
    SATURATED,
    Counts,
    busy,
    copy_share,
    idle,
    of_the_floor,
    pipe_reading,
    pipes,
    traffic,
    waits,
)
from cutegen.measurement.profile import Bottleneck, Reading

AT_THE_LIMIT = 0.95
LOCAL_SHARE = 0.1
CONFLICT_SHARE = 0.3
LOW_OCCUPANCY = 50.0  # per cent
UNEVEN = 0.6
SHORT_US = 5.0
_NEARLY = 0.95


class Named(NamedTuple):
    """A rule's answer."""

    bottleneck: Bottleneck
    evidence: str
    readings: tuple[Reading, ...]


def name_bottleneck(counts: Counts) -> Named:
    """The answer of the first rule that applies; UNKNOWN when the counters for it are missing."""
    return next(filter(None, (rule(counts) for rule in _RULES)), None) or _unknown(counts)


def _spills(c: Counts) -> Named | None:
    local = c.get(m.LOCAL_LOAD_SECTORS) + c.get(m.LOCAL_STORE_SECTORS)
    everything = local + c.get(m.GLOBAL_LOAD_SECTORS) + c.get(m.GLOBAL_STORE_SECTORS)
    if not everything or local / everything < LOCAL_SHARE:
        return None
    reading = Reading(
        metric="l1tex__t_sectors_pipe_lsu_mem_local / (local + global)",
        value=local / everything,
        rule=f"from {LOCAL_SHARE:.0%} on local memory is what the caches are busy with",
        rule_source=OWN_CHOICE,
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
            rule_source=OWN_CHOICE,
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
            rule_source="Nsight Compute's rule SharedMemoryConflicts; the share is " + OWN_CHOICE,
            at_the_limit="0",
        ),
        busy(c, m.L1_THROUGHPUT),
    )
    return Named(
        Bottleneck.BANK_CONFLICTS,
        f"{lost / total:.0%} of the passes over shared memory repeat an access whose banks "
        f"conflict; {total:.3g} would be {total - lost:.3g}",
        readings,
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
        (reading, busy(c, m.DRAM_THROUGHPUT, copy_share(c))),
    )


def _compute(c: Counts) -> Named | None:
    pipe, share = pipes(c.kernel)[0]
    if share < (SATURATED if pipe == ISSUE else BUSY) or share < c.get(m.DRAM_THROUGHPUT):
        return None
    tensor = pipe == TENSOR_CORES
    if not tensor and c.get(m.SM_THROUGHPUT) < c.get(m.MEMORY_THROUGHPUT):
        return None
    many = "are" if pipe in (ISSUE, TENSOR_CORES) else "is"
    return Named(
        Bottleneck.TENSOR if tensor else Bottleneck.COMPUTE,
        f"{pipe} {many} busy {share:.0f} % of the time{of_the_floor(c)}",
        (pipe_reading(c, pipe, share), busy(c, m.SM_THROUGHPUT)),
    )


def _memory(c: Counts) -> Named | None:
    whole = c.get(m.MEMORY_THROUGHPUT)
    levels = {
        "DRAM": m.DRAM_THROUGHPUT,
        "the L2 cache": m.L2_THROUGHPUT,
        "the L1 cache": m.L1_THROUGHPUT,
    }
    # a level further out is the cause where it is as busy as the whole
    name = next((n for n, metric in levels.items() if c.get(metric) >= _NEARLY * whole), "")
    if whole < BUSY or not name:
        return None
    limit = copy_share(c) if name == "DRAM" else ""
    return Named(
        Bottleneck.MEMORY,
        f"{name} is busy {c.get(levels[name]):.0f} % of the time{of_the_floor(c)}",
        (busy(c, levels[name], limit), *traffic(c)),
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
            rule_source=OWN_CHOICE,
            at_the_limit="as many warps as cover the latency; 100 % is not needed",
        )
        return Named(
            Bottleneck.OCCUPANCY,
            f"{possible:.0f} % of the warps fit a multiprocessor, limited by {limiter}, and no "
            f"resource is busy; {waits(c)}",
            (reading, *idle(c)),
        )
    if achieved < UNEVEN * possible:
        reading = Reading(
            metric=f"{m.WARPS_ACTIVE} / {m.WARPS_POSSIBLE}",
            value=achieved / possible,
            rule=f"below {UNEVEN:.0%} blocks end at different times, or too few were launched",
            rule_source="Nsight Compute's rule AchievedOccupancy; the share is " + OWN_CHOICE,
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
        f"({c.get(m.MEMORY_THROUGHPUT):.0f} %) are busy: {waits(c)}",
        (*idle(c), *traffic(c)),
    )


def _unknown(c: Counts) -> Named:
    return Named(
        Bottleneck.UNKNOWN,
        f"the counters that tell are missing ({len(c.kernel.counters)} were read)",
        (),
    )


_RULES: tuple[Callable[[Counts], Named | None], ...] = (
    _at_the_limit,
    _spills,
    _launch,
    _conflicts,
    _compute,
    _memory,
    _occupancy,
    _latency,
)
