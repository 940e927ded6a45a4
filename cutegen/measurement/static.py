"""A profile from what is known without counters: ptxas, occupancy, roofline position."""

from pydantic import JsonValue

from cutegen.measurement.occupancy import Occupancy, occupancy
from cutegen.measurement.profile import Bottleneck, Profile
from cutegen.measurement.timing import Measurement, Roofline, Timing
from cutegen.spec import KernelSpec
from cutegen.structure import Fingerprint, fingerprint
from cutegen.toolchain.protocol import BuildResult, KernelResources

AT_THE_LIMIT = 0.95
_BUSY = 0.6  # from here on the bound resource itself is what is short
_LOW_OCCUPANCY = 0.5
_VERY_LOW_OCCUPANCY = 0.25
_SHORT_FLOOR_US = 2.0  # launch, ramp-up and tail take about as long


class StaticProfiler:
    """Decides by the first rule that applies.

    1. Registers spilled to local memory: SPILLS.
    2. At least 95 % of the roofline: AT_THE_LIMIT.
    3. A floor below 2 µs that is not reached: LATENCY, since launch and ramp-up dominate.
    4. At least 60 % of the roofline: MEMORY or COMPUTE, whichever bounds the spec.
    5. Below that, less than half of the warps resident because of registers, shared memory
       or block size: OCCUPANCY.
    6. Below that with enough warps: LATENCY; work waits instead of being in flight.
    7. Without a time, less than a quarter of the warps resident: OCCUPANCY; else UNKNOWN.
    """

    def __init__(self, arch: str) -> None:
        """Profile for one architecture, such as ``sm_90a``."""
        self._arch = arch

    def profile(
        self, spec: KernelSpec, source: str, build: BuildResult, measurement: Measurement
    ) -> Profile:
        """Digest what can be known; what cannot be known is left out or UNKNOWN."""
        design = fingerprint(source, build)
        kernel = max(build.resources, key=lambda k: k.registers, default=None)
        occupied = self._occupancy(design, kernel)
        facts: dict[str, JsonValue] = {
            "arch": self._arch,
            "kernel_class": spec.kernel_class.value,
            "copies": design.features["copies"],
            "loads_in_flight": design.features["loads_in_flight"],
        }
        if kernel is not None:
            facts |= kernel.model_dump(mode="json")
        if occupied is not None:
            facts["occupancy"] = round(occupied.fraction, 3)
            facts["occupancy_limiter"] = occupied.limiter
            facts["blocks_per_sm"] = occupied.blocks
        if measurement.roofline is not None and measurement.candidate is not None:
            facts |= _rates(measurement.roofline, measurement.candidate)
        bottleneck, evidence = _decide(build, occupied, design, measurement)
        return Profile(source="static", bottleneck=bottleneck, evidence=evidence, facts=facts)

    def _occupancy(self, design: Fingerprint, kernel: KernelResources | None) -> Occupancy | None:
        threads = design.parameters.get("launch0.threads")
        if kernel is None or not isinstance(threads, int):
            return None
        dynamic = design.parameters.get("launch0.dynamic_smem_bytes")
        smem = kernel.static_smem_bytes + (dynamic if isinstance(dynamic, int) else 0)
        return occupancy(self._arch, threads, kernel.registers, smem)


def _rates(roofline: Roofline, timing: Timing) -> dict[str, JsonValue]:
    seconds = timing.median_us * 1e-6
    return {
        "time_us": round(timing.median_us, 3),
        "floor_us": round(roofline.floor_us, 3),
        "bound": roofline.bound,
        "roofline_fraction": round(roofline.fraction, 4),
        "gigabytes_per_s": round(roofline.bytes_moved / seconds / 1e9, 1),
        "teraflops_per_s": round(roofline.flops / seconds / 1e12, 2),
    }


def _decide(
    build: BuildResult, occupied: Occupancy | None, design: Fingerprint, measurement: Measurement
) -> tuple[Bottleneck, str]:
    spilled = [k for k in build.resources if k.spill_store_bytes or k.spill_load_bytes]
    if spilled:
        worst = max(spilled, key=lambda k: k.spill_store_bytes + k.spill_load_bytes)
        return Bottleneck.SPILLS, (
            f"ptxas spills {worst.spill_store_bytes} bytes of stores and "
            f"{worst.spill_load_bytes} of loads to local memory at {worst.registers} registers "
            "per thread"
        )
    if measurement.roofline is None or measurement.candidate is None:
        return _without_time(occupied, measurement.reason)
    return _with_time(measurement.roofline, measurement.candidate, occupied, design)


def _with_time(
    roofline: Roofline, timing: Timing, occupied: Occupancy | None, design: Fingerprint
) -> tuple[Bottleneck, str]:
    reached = (
        f"{timing.median_us:.1f} µs is {roofline.fraction:.0%} of what the {roofline.bound} "
        f"roofline allows ({roofline.floor_us:.1f} µs)"
    )
    if roofline.fraction >= AT_THE_LIMIT:
        return Bottleneck.AT_THE_LIMIT, f"{reached}: little is left to win"
    if roofline.floor_us < _SHORT_FLOOR_US:
        return Bottleneck.LATENCY, f"{reached}: launch and ramp-up dominate so short a kernel"
    if roofline.fraction >= _BUSY:
        if roofline.bound == "compute":
            return Bottleneck.COMPUTE, f"{reached}: the arithmetic units are nearly kept busy"
        return Bottleneck.MEMORY, f"{reached}: DRAM traffic is what the kernel waits for"
    if occupied is not None and occupied.fraction < _LOW_OCCUPANCY:
        return Bottleneck.OCCUPANCY, f"{reached}, and {_resident(occupied)}"
    warps = f", with {occupied.fraction:.0%} of the warps resident" if occupied else ""
    return Bottleneck.LATENCY, (
        f"{reached}{warps}; copies are {design.features['copies']}, loads in flight: "
        f"{design.features['loads_in_flight']}, so requests or instructions wait for each other"
    )


def _without_time(occupied: Occupancy | None, reason: str) -> tuple[Bottleneck, str]:
    why = f"no time was taken ({reason})" if reason else "no time was taken"
    if occupied is None:
        return Bottleneck.UNKNOWN, f"{why}, and block size or registers are not known"
    if occupied.fraction < _VERY_LOW_OCCUPANCY:
        return Bottleneck.OCCUPANCY, f"{why}, but {_resident(occupied)}"
    return Bottleneck.UNKNOWN, f"{why}; {occupied.fraction:.0%} of the warps can be resident"


def _resident(occupied: Occupancy) -> str:
    return (
        f"only {occupied.fraction:.0%} of the warps can be resident, {occupied.blocks} blocks "
        f"per multiprocessor, limited by {occupied.limiter}"
    )
