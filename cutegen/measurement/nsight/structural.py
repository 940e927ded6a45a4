"""Counters that no change of parameters cures: the evidence for going back to the structure.

Only what bears on the bottleneck counts: an access pattern is nobody's fault where the tensor cores
are what is short. At the limit nothing is.
"""

from collections.abc import Iterator, Sequence

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.readings import OWN_CHOICE
from cutegen.measurement.nsight.report import KernelCounters
from cutegen.measurement.profile import Bottleneck, Reading
from cutegen.measurement.timing import Measurement
from cutegen.measurement.work import count_work
from cutegen.spec import KernelSpec

_SECTOR_BYTES = 32
_LEAST_BYTES_USED = 16.0  # of 32 in a sector
_LEAST_SHARE = 0.3  # of all sectors, before an access pattern matters
_REPEATED_TRAFFIC = 1.5
_GRID_SHARE = 0.25
_TENSOR_IDLE = 5.0  # per cent
_WAITS_FOR_MEMORY = (
    Bottleneck.MEMORY,
    Bottleneck.LATENCY,
    Bottleneck.OCCUPANCY,
    Bottleneck.LAUNCH,
)


def structural_readings(
    spec: KernelSpec,
    bottleneck: Bottleneck,
    kernels: Sequence[KernelCounters],
    measurement: Measurement,
) -> tuple[Reading, ...]:
    """What in these counters is the design's fault, whatever its parameters.

    Args:
        spec: What the kernels implement.
        bottleneck: What holds the longest of them back.
        kernels: The kernels of one call.
        measurement: The call's time and roofline.
    """
    if bottleneck is Bottleneck.AT_THE_LIMIT:
        return ()
    longest = max(kernels, key=lambda kernel: kernel.value(m.DURATION) or 0.0)
    found: list[Reading] = []
    if bottleneck in _WAITS_FOR_MEMORY:
        found += _access_patterns(longest)
        found += _repeated_traffic(spec, kernels)
    if bottleneck is Bottleneck.BANK_CONFLICTS:
        found += _layout(longest)
    if bottleneck is Bottleneck.LAUNCH:
        found += _grid(longest)
    if len(kernels) > 1:
        found.append(_several(kernels))
    if measurement.roofline is not None and measurement.roofline.bound == "compute":
        found += _idle_tensor_cores(longest)
    return tuple(found)


def _access_patterns(kernel: KernelCounters) -> Iterator[Reading]:
    sectors = {
        m.LOAD_BYTES_PER_SECTOR: kernel.value(m.GLOBAL_LOAD_SECTORS) or 0.0,
        m.STORE_BYTES_PER_SECTOR: kernel.value(m.GLOBAL_STORE_SECTORS) or 0.0,
    }
    total = sum(sectors.values())
    for metric, count in sectors.items():
        used = kernel.value(metric)
        if used and used < _LEAST_BYTES_USED and count >= _LEAST_SHARE * total:
            yield Reading(
                metric=metric,
                value=used,
                unit="bytes used of each sector",
                rule=f"below {_LEAST_BYTES_USED:.0f} of {_SECTOR_BYTES} the access pattern moves "
                "more than it uses",
                rule_source=f"Nsight Compute's UncoalescedGlobalAccess; share: {OWN_CHOICE}",
                at_the_limit=f"{_SECTOR_BYTES}",
            )


def _repeated_traffic(spec: KernelSpec, kernels: Sequence[KernelCounters]) -> Iterator[Reading]:
    work = count_work(spec)
    moved = sum(
        kernel.value(metric) or 0.0
        for kernel in kernels
        for metric in (m.DRAM_READ, m.DRAM_WRITTEN)
    )
    if not work.flops and moved > _REPEATED_TRAFFIC * work.nbytes:
        yield Reading(
            metric=f"({m.DRAM_READ} + {m.DRAM_WRITTEN}) / least bytes",
            value=moved / work.nbytes,
            rule="without products every byte is needed once: passes must be merged",
            rule_source="the bytes counted from the traced reference",
            at_the_limit="1",
        )


def _layout(kernel: KernelCounters) -> Iterator[Reading]:
    total = kernel.value(m.SHARED_WAVEFRONTS)
    ideal = kernel.value(m.SHARED_WAVEFRONTS_IDEAL)
    if total and ideal:
        yield Reading(
            metric=f"{m.SHARED_WAVEFRONTS} / {m.SHARED_WAVEFRONTS_IDEAL}",
            value=total / ideal,
            rule="banks conflict by the layout: another one, padded or swizzled, is needed",
            rule_source=OWN_CHOICE,
            at_the_limit="1",
        )


def _grid(kernel: KernelCounters) -> Iterator[Reading]:
    blocks, multiprocessors = kernel.value(m.GRID), kernel.value(m.MULTIPROCESSORS)
    if blocks and multiprocessors and blocks < _GRID_SHARE * multiprocessors:
        yield Reading(
            metric=m.GRID,
            value=blocks,
            unit="blocks",
            rule=f"less than a quarter of the {multiprocessors:.0f} multiprocessors work: the "
            "work must be cut otherwise (split-K, several blocks a row)",
            rule_source=OWN_CHOICE,
            at_the_limit=f"{multiprocessors:.0f} or more",
        )


def _several(kernels: Sequence[KernelCounters]) -> Reading:
    return Reading(
        metric="kernels of one call",
        value=len(kernels),
        rule="what lies between them goes through memory; one kernel can fuse them",
        rule_source=OWN_CHOICE,
        at_the_limit="1",
    )


def _idle_tensor_cores(kernel: KernelCounters) -> Iterator[Reading]:
    used = kernel.value(m.TENSOR_PIPE)
    if used is not None and used < _TENSOR_IDLE:
        yield Reading(
            metric=m.TENSOR_PIPE,
            value=used,
            unit="% of peak",
            rule="products leave the tensor cores idle",
            rule_source="the roofline's rate is the tensor cores' at this math mode",
            at_the_limit="near 100",
        )
