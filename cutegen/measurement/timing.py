"""Timings as data: raw samples first, statistics derived from them."""

from enum import StrEnum
from functools import cached_property
from statistics import median, quantiles

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.shown import Shown
from cutegen.verification.verdict import Verdict

METHOD = "cuda-events/cold-l2/interleaved/v1"


class Timing(Frozen):
    """Device times of one kernel, in microseconds, one sample per call.

    ``wall_us`` holds, for the same calls, the host's wall clock around the whole request
    (flush, launch, wait, reply): no time to boast of, but one the kernel cannot forge.
    ``looks`` says how often the series was looked at to end it; intervals allow for that.
    """

    samples_us: tuple[float, ...]
    wall_us: tuple[float, ...] = ()
    method: str = METHOD
    looks: int = 1

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


class CallFigures(Frozen):
    """What a short kernel costs beside the device time of a single cold call.

    Below some 20 µs the launch weighs as much as the work. ``call_us`` is the host's clock
    around one call and its completion; ``graph_us`` the device time of one call among twenty
    in a replayed CUDA graph. Both run on a warm cache, so neither is compared with
    ``Timing``. Without a graph ``graph_us`` is 0 and ``graph_reason`` says why.
    """

    call_us: float
    graph_us: float
    graph_reason: str = ""


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


class Measurement(Shown):
    """Interleaved timings of a candidate, its incumbent and the PyTorch baselines.

    ``calls`` holds, for kernels below 20 µs, the figures of a call by the worker's name.
    """

    state: MeasurementState
    reason: str = ""
    candidate: Timing | None = None
    incumbent: Timing | None = None
    baselines: dict[str, Timing] = {}
    roofline: Roofline | None = None
    calls: dict[str, CallFigures] = {}
    environment: dict[str, JsonValue] = {}
    verdict: Verdict | None = None  # when the kernel, not its time, was found wrong

    @property
    def speedup(self) -> float | None:
        """Median of PyTorch eager over the candidate's; None unless both are believed."""
        eager = self.baselines.get("eager")
        believed = self.state is MeasurementState.MEASURED
        if not believed or self.candidate is None or eager is None:
            return None
        return eager.median_us / self.candidate.median_us
