"""Counters that no change of parameters cures: the evidence for going back to the structure."""

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.readings import OWN_CHOICE
from cutegen.measurement.nsight.report import KernelCounters
from cutegen.measurement.profile import Reading
from cutegen.measurement.timing import Measurement
from cutegen.measurement.work import count_work
from cutegen.spec import KernelSpec

_SECTOR_BYTES = 32
_LEAST_BYTES_USED = 16.0  # of 32 in a sector
_LEAST_SHARE = 0.3  # of all sectors, before an access pattern matters
_REPEATED_TRAFFIC = 1.5
_CONFLICTS = 0.3
_GRID_SHARE = 0.25
_TENSOR_IDLE = 5.0  # per cent


def structural_readings(
    spec: KernelSpec, kernel: KernelCounters, kernels: int, measurement: Measurement
) -> tuple[Reading, ...]:
    """What in these counters is the design's fault, whatever its parameters.

    Args:
        spec: What the kernel implements.
        kernel: The counters of the kernel that takes longest.
        kernels: How many the call launches.
        measurement: The call's time, with the least bytes.
    """

    def get(metric: str) -> float:
        return kernel.value(metric) or 0.0

    found: list[Reading] = []
    for access, sectors, used in (
        ("ld", m.GLOBAL_LOAD_SECTORS, m.LOAD_BYTES_PER_SECTOR),
        ("st", m.GLOBAL_STORE_SECTORS, m.STORE_BYTES_PER_SECTOR),
    ):
        everything = get(m.GLOBAL_LOAD_SECTORS) + get(m.GLOBAL_STORE_SECTORS)
        matters = everything and get(sectors) / everything >= _LEAST_SHARE
        if matters and 0 < get(used) < _LEAST_BYTES_USED:
            found.append(
                Reading(
                    metric=used,
                    value=get(used),
                    unit=f"bytes used of each sector ({access})",
                    rule=f"below {_LEAST_BYTES_USED:.0f} of {_SECTOR_BYTES} the access pattern "
                    "moves more than it uses",
                    rule_source=f"Nsight Compute's UncoalescedGlobalAccess; share: {OWN_CHOICE}",
                    at_the_limit=f"{_SECTOR_BYTES}",
                )
            )
    total, ideal = get(m.SHARED_WAVEFRONTS), get(m.SHARED_WAVEFRONTS_IDEAL)
    if total and (total - ideal) / total >= _CONFLICTS:
        found.append(
            Reading(
                metric=f"{m.SHARED_WAVEFRONTS} / ideal",
                value=total / max(ideal, 1.0),
                rule="banks conflict by the layout: another one, padded or swizzled, is needed",
                rule_source=OWN_CHOICE,
                at_the_limit="1",
            )
        )
    work = count_work(spec)
    moved = get(m.DRAM_READ) + get(m.DRAM_WRITTEN)
    if not work.flops and kernels == 1 and moved > _REPEATED_TRAFFIC * work.nbytes:
        found.append(
            Reading(
                metric=f"({m.DRAM_READ} + {m.DRAM_WRITTEN}) / least bytes",
                value=moved / work.nbytes,
                rule="without products every byte is needed once: passes must be merged",
                rule_source="the bytes counted from the traced reference",
                at_the_limit="1",
            )
        )
    if kernels > 1:
        found.append(
            Reading(
                metric="kernels of one call",
                value=kernels,
                rule="what lies between them goes through memory; one kernel can fuse them",
                rule_source=OWN_CHOICE,
                at_the_limit="1",
            )
        )
    blocks, multiprocessors = get(m.GRID), get(m.MULTIPROCESSORS)
    if multiprocessors and blocks < _GRID_SHARE * multiprocessors:
        found.append(
            Reading(
                metric=m.GRID,
                value=blocks,
                unit="blocks",
                rule=f"less than a quarter of the {multiprocessors:.0f} multiprocessors work: "
                "the work must be cut otherwise (split-K, several blocks a row)",
                rule_source=OWN_CHOICE,
                at_the_limit=f"{multiprocessors:.0f} or more",
            )
        )
    compute = measurement.roofline is not None and measurement.roofline.bound == "compute"
    if compute and m.TENSOR_PIPE in kernel.counters and get(m.TENSOR_PIPE) < _TENSOR_IDLE:
        found.append(
            Reading(
                metric=m.TENSOR_PIPE,
                value=get(m.TENSOR_PIPE),
                unit="% of peak",
                rule="products leave the tensor cores idle",
                rule_source="the roofline's rate is the tensor cores' at this math mode",
                at_the_limit="near 100",
            )
        )
    return tuple(found)
