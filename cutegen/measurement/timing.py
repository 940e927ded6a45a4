"""Timings as data: raw samples first, statistics derived from them."""

from enum import StrEnum
from functools import cached_property
from statistics import median, quantiles

from pydantic import JsonValue

from cutegen.frozen import Frozen

METHOD = "cuda-events/cold-l2/interleaved/v1"


class Timing(Frozen):
    """Device times of one kernel, in microseconds, one sample per call.

    ``wall_us`` holds, for the same calls, the host's wall clock around the whole request
    (flush, launch, wait, reply): no time to boast of, but one the kernel cannot forge.
    """

    samples_us: tuple[float, ...]
    wall_us: tuple[float, ...] = ()
    method: str = METHOD

    @cached_property
    def median_us(self) -> float:
        """Median over the samples."""
        return median(self.samples_us)

    @cached_property
    def p20_us(self) -> float:
        """20th percentile."""
        return quantiles(self.samples_us, n=5)[0]

    @cached_property
    def p80_us(self) -> float:
        """80th percentile."""
        return quantiles(self.samples_us, n=5)[3]


class MeasurementState(StrEnum):
    """Whether there is a time, and if not, whose doing that is."""

    MEASURED = "MEASURED"
    UNMEASURED = "UNMEASURED"  # this executor has no clock worth reading: the emulator
    REFUSED = "REFUSED"  # a time was taken and is not believed, or the kernel failed


class Roofline(Frozen):
    """How far from the limit: the least bytes and operations, and the ceilings used."""

    bytes_moved: int
    flops: int
    copy_bytes_per_s: float
    flops_per_s: float
    floor_us: float
    bound: str  # "memory" or "compute"
    fraction: float  # floor_us over the measured median


class Measurement(Frozen):
    """Interleaved timings of a candidate, its incumbent and the PyTorch baselines."""

    state: MeasurementState
    reason: str = ""
    candidate: Timing | None = None
    incumbent: Timing | None = None
    baselines: dict[str, Timing] = {}
    roofline: Roofline | None = None
    environment: dict[str, JsonValue] = {}

    @property
    def speedup(self) -> float | None:
        """Median of PyTorch eager over the candidate's; None unless both are believed."""
        eager = self.baselines.get("eager")
        believed = self.state is MeasurementState.MEASURED
        if not believed or self.candidate is None or eager is None:
            return None
        return eager.median_us / self.candidate.median_us
