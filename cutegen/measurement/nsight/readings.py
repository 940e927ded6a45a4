"""What the rules look at: the counters of one kernel, and the readings they make of them."""

from typing import NamedTuple

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.report import KernelCounters
from cutegen.measurement.profile import Reading
from cutegen.measurement.timing import Roofline

OWN_CHOICE = "CuTeGen's own choice"
_SOL = "Nsight Compute's rule SOLBottleneck"
BUSY = 60.0  # per cent of peak
SATURATED = 80.0
ISSUE = "the issue slots"


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


def pipes(kernel: KernelCounters) -> list[tuple[str, float]]:
    """Issue slots and pipes, and how busy they are (per cent), busiest first."""
    found = {ISSUE: 100 * (kernel.value(m.ISSUED) or 0.0)}
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


def busy(c: Counts, metric: str, at_the_limit: str = "") -> Reading:
    """How busy a unit is, by the thresholds of Nsight Compute."""
    return Reading(
        metric=metric,
        value=c.get(metric),
        unit="% of peak",
        rule=f"from {BUSY:.0f} % on it is what is short, from {SATURATED:.0f} % saturated",
        rule_source=_SOL,
        at_the_limit=at_the_limit,
    )


def pipe_reading(c: Counts, pipe: str, share: float) -> Reading:
    """How busy a pipe is, by the metric that says the most; or how many issue slots are used."""
    if pipe != ISSUE:
        metric = max((name for name, of in m.PIPES.items() if of == pipe), key=c.get)
        return busy(c, metric, "100 % of peak, as far as power and clocks allow")
    return Reading(
        metric=m.ISSUED,
        value=share,
        unit="% of the slots",
        rule=f"from {SATURATED:.0f} % on the number of instructions is what takes the time",
        rule_source=OWN_CHOICE,
        at_the_limit="100 %, of fewer instructions",
    )


def idle(c: Counts) -> tuple[Reading, ...]:
    """The speed of light of both sides, and the longest stall."""
    readings = [busy(c, m.SM_THROUGHPUT), busy(c, m.MEMORY_THROUGHPUT)]
    longest = stalls(c.kernel)
    if longest:
        reason, cycles = longest[0]
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


def waits(c: Counts) -> str:
    """The longest wait of a warp between two of its instructions, in words."""
    longest = stalls(c.kernel)
    if not longest:
        return "why warps wait was not counted"
    total = sum(cycles for _, cycles in longest)
    reason, cycles = longest[0]
    return f"of {total:.1f} cycles between two instructions of a warp, {cycles:.1f} are {reason}"


def traffic(c: Counts) -> tuple[Reading, ...]:
    """What DRAM moved, relative to the least that the spec demands."""
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


def copy_share(c: Counts) -> str:
    """What a copy reaches of DRAM's peak on this device."""
    seconds, share = c.get(m.DURATION) / 1e9, c.get(m.DRAM_THROUGHPUT) / 100
    moved = c.get(m.DRAM_READ) + c.get(m.DRAM_WRITTEN)
    if c.roofline is None or not (seconds and share and moved):
        return ""
    peak = moved / seconds / share
    return f"about {c.roofline.copy_bytes_per_s / peak:.0%} of peak, as a copy on this device"


def of_the_floor(c: Counts) -> str:
    """How near the call comes to the roofline, as the end of a sentence."""
    if c.roofline is None:
        return ""
    return (
        f"; the call reaches {c.roofline.fraction:.0%} of what the {c.roofline.bound} roofline "
        f"allows ({c.roofline.floor_us:.1f} µs)"
    )
