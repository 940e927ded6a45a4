"""What is known of a kernel beyond its time: the protocol, and the nouns it answers with."""

from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.measurement.timing import Measurement
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildResult


class Bottleneck(StrEnum):
    """What holds the kernel back."""

    MEMORY = "memory"
    COMPUTE = "compute"
    LATENCY = "latency"
    OCCUPANCY = "occupancy"
    SPILLS = "spills"
    AT_THE_LIMIT = "at-the-limit"
    UNKNOWN = "unknown"


class Profile(Frozen):
    """A digest for the profile tuner: the bottleneck, the evidence for it, the facts."""

    source: str  # "static" or "ncu"
    bottleneck: Bottleneck
    evidence: str
    facts: dict[str, JsonValue] = {}


class Profiler(Protocol):
    """Explains where a verified kernel's time goes."""

    def profile(
        self, spec: KernelSpec, source: str, build: BuildResult, measurement: Measurement
    ) -> Profile:
        """Digest what can be known; never raises because something cannot be."""
