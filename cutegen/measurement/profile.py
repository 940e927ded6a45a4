"""What is known of a kernel beyond its time: the protocol, and the nouns it answers with."""

from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.measurement.timing import Measurement
from cutegen.shown import Shown
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildResult


class Bottleneck(StrEnum):
    """What holds the kernel back."""

    MEMORY = "memory"  # the bandwidth of DRAM, or of a cache
    COMPUTE = "compute"  # instructions: their issue, or a pipe other than the tensor cores
    TENSOR = "tensor"  # the tensor cores
    LATENCY = "latency"  # warps wait, and nothing is saturated
    BANK_CONFLICTS = "bank-conflicts"  # shared memory serves one access in many passes
    SPILLS = "spills"  # registers that live in local memory
    OCCUPANCY = "occupancy"  # too few warps fit a multiprocessor
    LAUNCH = "launch"  # too few blocks for the machine, or the launch outweighs the work
    AT_THE_LIMIT = "at-the-limit"
    UNKNOWN = "unknown"


class Reading(Frozen):
    """One number that speaks for a bottleneck, and the rule by which it does.

    ``metric`` is the name that the number's source gives it: Nsight Compute's, ptxas's, or a
    feature of the source. ``rule`` says the threshold in words, ``rule_source`` where it comes
    from, ``at_the_limit`` what the number would be if nothing were lost (empty: not known).
    """

    metric: str
    value: float
    unit: str = ""
    rule: str
    rule_source: str
    at_the_limit: str = ""


class Profile(Shown):
    """A digest for the profile tuner: the bottleneck, the evidence for it, the facts.

    ``evidence`` is one sentence; ``readings`` are the numbers behind it, the most telling one
    first. ``structural`` holds those that no change of parameters can cure: with any in it
    the tuner may hand the kernel back to the structural optimizer. ``unknown`` says what this
    profile could not see, and why; it is empty for a full one.
    """

    source: str  # "static" or "ncu"
    bottleneck: Bottleneck
    evidence: str
    readings: tuple[Reading, ...] = ()
    structural: tuple[Reading, ...] = ()
    unknown: str = ""
    facts: dict[str, JsonValue] = {}


class Profiler(Protocol):
    """Explains where a verified kernel's time goes."""

    def profile(
        self, spec: KernelSpec, source: str, build: BuildResult, measurement: Measurement
    ) -> Profile:
        """Digest what can be known; never raises because something cannot be."""
