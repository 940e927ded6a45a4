"""A profile from what is known without counters: ptxas, machine code, occupancy, the roofline."""

from typing import NamedTuple

from pydantic import JsonValue

from cutegen.measurement.instruction_mix import (
    TENSOR,
    instruction_mix,
    machine_code,
    widest_load,
)
from cutegen.measurement.occupancy import Occupancy, occupancy
from cutegen.measurement.profile import Bottleneck, Profile, Reading
from cutegen.measurement.timing import Measurement, Roofline, Timing
from cutegen.spec import KernelSpec
from cutegen.structure import Fingerprint, fingerprint
from cutegen.toolchain.disassembly import KernelCode
from cutegen.toolchain.protocol import BuildResult, KernelResources

AT_THE_LIMIT = 0.95
_BUSY = 0.8  # from here on it is the resource; at 61 % an H200 counted waiting warps
_VERY_LOW_OCCUPANCY = 0.25
_SHORT_FLOOR_US = 2.0  # launch, ramp-up and tail take about as long
_VECTOR_BITS = 128
_OWN = "CuTeGen's own choice"
_MEASURED = "the ceilings measured on this device"
_GUIDE = "CUDA C++ Best Practices Guide, on coalesced access"
_BLIND = "whether warps wait, banks conflict or data comes twice: no counters were read"


class _Known(NamedTuple):
    """All that the rules look at; None where it is not known."""

    spilled: KernelResources | None
    occupied: Occupancy | None
    code: KernelCode | None
    roofline: Roofline | None
    timing: Timing | None
    untimed: str

    @property
    def tensor(self) -> bool:
        """Whether the code has tensor-core instructions."""
        return self.code is not None and self.code.count(*TENSOR) > 0


class StaticProfiler:
    """Decides by the first rule that applies, and says UNKNOWN rather than guess.

    1. Registers spilled to local memory: SPILLS.
    2. At least 95 % of the roofline: AT_THE_LIMIT.
    3. A floor below 2 µs that is not reached: LAUNCH, since launch and ramp-up dominate.
    4. At least 80 % of the roofline: MEMORY, or COMPUTE, or TENSOR where the code uses tensor
       cores; whichever bounds the spec.
    5. Below that, or without a time, less than a quarter of the warps resident because of
       registers, shared memory or block size, in a kernel without tensor cores (which are fed
       by few warps): OCCUPANCY.
    6. UNKNOWN: waiting warps, conflicting banks and repeated traffic look alike from here.
    """

    def __init__(self, arch: str) -> None:
        """Profile for one architecture, such as ``sm_90a``."""
        self._arch = arch

    def profile(
        self, spec: KernelSpec, source: str, build: BuildResult, measurement: Measurement
    ) -> Profile:
        """Digest what can be known; what cannot be known is left out or UNKNOWN."""
        design = fingerprint(source, build)
        codes, why_not = machine_code(build)
        kernel = _main(build)
        known = _Known(
            spilled=_most_spilled(build),
            occupied=static_occupancy(self._arch, design, kernel),
            code=max(codes, key=lambda code: code.total, default=None),
            roofline=measurement.roofline,
            timing=measurement.candidate,
            untimed=measurement.reason,
        )
        facts: dict[str, JsonValue] = {"arch": self._arch, "kernel_class": spec.kernel_class.value}
        facts |= {name: design.features[name] for name in _SHOWN if name in design.features}
        if kernel is not None:
            facts |= kernel.model_dump(mode="json") | {"kernel": kernel.kernel[:_NAME_LIMIT]}
        if known.occupied is not None:
            facts["occupancy"] = round(known.occupied.fraction, 3)
            facts["occupancy_limiter"] = known.occupied.limiter
            facts["blocks_per_sm"] = known.occupied.blocks
        if known.roofline is not None and known.timing is not None:
            facts |= _rates(known.roofline, known.timing)
        if known.code is not None:
            facts |= instruction_mix(known.code)
        bottleneck, evidence, readings = _decide(known)
        return Profile(
            source="static",
            bottleneck=bottleneck,
            evidence=evidence,
            readings=readings,
            structural=_structural(spec, known),
            unknown="; ".join(filter(None, (_BLIND, why_not))),
            facts=facts,
        )


_SHOWN = ("copies", "loads_in_flight")
_NAME_LIMIT = 120
_Answer = tuple[Bottleneck, str, tuple[Reading, ...]]


def static_occupancy(
    arch: str, design: Fingerprint, kernel: KernelResources | None
) -> Occupancy | None:
    """How many warps can be resident, where block size and registers are known."""
    threads = design.parameters.get("launch0.threads")
    if kernel is None or not isinstance(threads, int):
        return None
    dynamic = design.parameters.get("launch0.dynamic_smem_bytes")
    smem = kernel.static_smem_bytes + (dynamic if isinstance(dynamic, int) else 0)
    return occupancy(arch, threads, kernel.registers, smem)


def occupancy_of(arch: str, source: str, build: BuildResult) -> Occupancy | None:
    """The theoretical occupancy of a source's largest kernel, None where it is not known."""
    return static_occupancy(arch, fingerprint(source, build), _main(build))


def _main(build: BuildResult) -> KernelResources | None:
    return max(build.resources, key=lambda k: k.registers, default=None)


def _most_spilled(build: BuildResult) -> KernelResources | None:
    spilled = [k for k in build.resources if k.spill_store_bytes or k.spill_load_bytes]
    return max(spilled, key=lambda k: k.spill_store_bytes + k.spill_load_bytes, default=None)


def _rates(roofline: Roofline, timing: Timing) -> dict[str, JsonValue]:
    seconds = timing.median_us * 1e-6
    return {
        "time_us": round(timing.median_us, 3),
        "floor_us": round(roofline.floor_us, 3),
        "bound": roofline.bound,
        "roofline_fraction": round(roofline.fraction, 4),
        "gigabytes_per_s": round(roofline.bytes_moved / seconds / 1e9, 1),
        "share_of_the_copy_rate": round(
            roofline.bytes_moved / seconds / roofline.copy_bytes_per_s, 4
        ),
        "teraflops_per_s": round(roofline.flops / seconds / 1e12, 2),
        "share_of_the_product_rate": round(roofline.flops / seconds / roofline.flops_per_s, 4),
    }


def _decide(known: _Known) -> _Answer:
    if known.spilled is not None:
        return _spills(known.spilled)
    if known.roofline is not None and known.timing is not None:
        answer = _by_time(known, known.roofline, known.timing)
        if answer is not None:
            return answer
    if known.occupied is not None and _too_few(known):
        return Bottleneck.OCCUPANCY, _told(known, _resident(known.occupied)), _shares(known)
    missing = "" if known.occupied else "block size or registers are not known"
    return Bottleneck.UNKNOWN, _told(known, missing), _shares(known)


def _spills(kernel: KernelResources) -> _Answer:
    spilled = kernel.spill_store_bytes + kernel.spill_load_bytes
    reading = Reading(
        metric="ptxas spill stores + loads",
        value=spilled,
        unit="bytes per thread",
        rule="any spill costs accesses to local memory; how often is not known",
        rule_source="ptxas -v",
        at_the_limit="0",
    )
    sentence = (
        f"ptxas spills {kernel.spill_store_bytes} bytes of stores and {kernel.spill_load_bytes} "
        f"of loads to local memory at {kernel.registers} registers per thread"
    )
    return Bottleneck.SPILLS, sentence, (reading,)


def _by_time(known: _Known, roofline: Roofline, timing: Timing) -> _Answer | None:
    reached = _reached(roofline, timing)
    readings = _shares(known)
    if roofline.fraction >= AT_THE_LIMIT:
        return Bottleneck.AT_THE_LIMIT, f"{reached}: little is left to win", readings
    if roofline.floor_us < _SHORT_FLOOR_US:
        sentence = f"{reached}: launch and ramp-up dominate so short a kernel"
        return Bottleneck.LAUNCH, sentence, readings
    if roofline.fraction < _BUSY:
        return None
    if roofline.bound == "memory":
        sentence = f"{reached}: DRAM traffic is what the kernel waits for"
        return Bottleneck.MEMORY, sentence, readings
    units = "the tensor cores" if known.tensor else "the arithmetic units"
    sentence = f"{reached}: {units} are nearly kept busy"
    return Bottleneck.TENSOR if known.tensor else Bottleneck.COMPUTE, sentence, readings


def _too_few(known: _Known) -> bool:
    few = known.occupied is not None and known.occupied.fraction < _VERY_LOW_OCCUPANCY
    return few and not known.tensor


def _reached(roofline: Roofline, timing: Timing) -> str:
    return (
        f"{timing.median_us:.1f} µs is {roofline.fraction:.0%} of what the {roofline.bound} "
        f"roofline allows ({roofline.floor_us:.1f} µs)"
    )


def _told(known: _Known, what: str) -> str:
    """What the time says, and what else is known."""
    if known.roofline is not None and known.timing is not None:
        first = f"{_reached(known.roofline, known.timing)}, and why cannot be seen without counters"
    else:
        first = "no time was taken" + (f" ({known.untimed})" if known.untimed else "")
    if not what and known.occupied is not None:
        what = f"{known.occupied.fraction:.0%} of the warps can be resident"
    return f"{first}; {what}" if what else first


def _resident(occupied: Occupancy) -> str:
    return (
        f"only {occupied.fraction:.0%} of the warps can be resident, {occupied.blocks} blocks "
        f"per multiprocessor, limited by {occupied.limiter}"
    )


def _shares(known: _Known) -> tuple[Reading, ...]:
    """The roofline's share, and the occupancy, as readings."""
    readings: list[Reading] = []
    if known.roofline is not None:
        readings.append(
            Reading(
                metric="roofline_fraction",
                value=known.roofline.fraction,
                unit=f"of what the {known.roofline.bound} roofline allows",
                rule=f"from {_BUSY:.0%} on the resource itself is short, from {AT_THE_LIMIT:.0%} "
                "on little is left",
                rule_source=_MEASURED,
                at_the_limit=f"1: {known.roofline.floor_us:.1f} µs",
            )
        )
    if _too_few(known) and known.occupied is not None:
        readings.append(
            Reading(
                metric="theoretical occupancy",
                value=known.occupied.fraction,
                unit="of the warps",
                rule=f"below {_VERY_LOW_OCCUPANCY:.0%} little latency is covered",
                rule_source=_OWN,
                at_the_limit="as many warps as cover the latency; 1 is not needed",
            )
        )
    return tuple(readings)


def _rows_are_vectors(spec: KernelSpec) -> bool:
    """Whether the rows of every tensor begin at a multiple of 16 bytes."""
    return all(
        tensor.shape[-1] * tensor.dtype.torch.itemsize % (_VECTOR_BITS // 8) == 0
        for tensor in spec.timed.tensors
        if tensor.shape
    )


def _structural(spec: KernelSpec, known: _Known) -> tuple[Reading, ...]:
    """What no change of numbers cures, as far as the code shows it."""
    roofline, code = known.roofline, known.code
    if roofline is None or code is None or roofline.fraction >= AT_THE_LIMIT:
        return ()
    width = widest_load(code)
    if roofline.bound == "memory" and 0 < width < _VECTOR_BITS and _rows_are_vectors(spec):
        return (
            Reading(
                metric="widest global load",
                value=width,
                unit="bits per thread",
                rule=f"{_VECTOR_BITS} bits ask for the same bytes with fewer instructions",
                rule_source=_GUIDE,
                at_the_limit=f"{_VECTOR_BITS}",
            ),
        )
    if roofline.bound == "compute" and not known.tensor:
        return (
            Reading(
                metric="tensor-core products",
                value=0,
                unit="instructions",
                rule="the roofline's rate is that of the tensor cores",
                rule_source=_MEASURED,
                at_the_limit="all products",
            ),
        )
    return ()
