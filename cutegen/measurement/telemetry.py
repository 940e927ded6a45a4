"""The device's own word on its clocks, power and throttling, through NVML.

``nvidia-ml-py`` is NVIDIA's binding of the library that ships with the driver; it answers
in microseconds where starting nvidia-smi takes a tenth of a second, so it can be asked
between two rounds of samples. It comes with ``pip install cutegen[cuda]`` and is of no use
without an NVIDIA driver; where either is absent, a reading says so and nothing fails.
"""

import importlib
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from pydantic import JsonValue

from cutegen.frozen import Frozen

# Bits of nvmlClocksEventReasons, as nvml.h defines them.
_REASONS = {
    0x1: "idle",
    0x2: "application-clocks",
    0x4: "power-cap",
    0x8: "hardware-slowdown",
    0x10: "sync-boost",
    0x20: "software-thermal",
    0x40: "hardware-thermal",
    0x80: "power-brake",
    0x100: "display-clocks",
}
# The power cap is how a GPU works at full load, and every kernel of a round is under it alike.
_DISTURBING = frozenset(
    ("hardware-slowdown", "software-thermal", "hardware-thermal", "power-brake")
)
_ADVICE = "pip install nvidia-ml-py"


class ReadingState(StrEnum):
    """Whether the device could be asked."""

    READ = "read"
    UNAVAILABLE = "unavailable"


class DeviceReading(Frozen):
    """The device at one moment. A figure is None where this device does not tell it.

    ``throttle`` names what holds the clock down, ``processes`` counts those that compute
    on the device, ours included.
    """

    state: ReadingState
    reason: str = ""
    driver: str = ""
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: int | None = None
    processes: int | None = None
    throttle: tuple[str, ...] = ()


class Telemetry:
    """NVML opened for one device. Use it as a context manager."""

    def __init__(self, uuid: str = "") -> None:
        """Remember which device: a UUID with or without ``GPU-``, or the first one."""
        self._uuid = f"GPU-{uuid.removeprefix('GPU-')}" if uuid else ""
        self._nvml: Any = None
        self._handle: Any = None
        self._reason = "not opened"

    def __enter__(self) -> Self:
        """Open the library; where it is absent every reading says so."""
        try:
            self._nvml = importlib.import_module("pynvml")
        except ImportError:
            self._reason = f"nvidia-ml-py is not installed: {_ADVICE}"
            return self
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            self._reason = f"NVML cannot be used: {error}"
            self._nvml = None
            return self
        try:
            self._handle = (
                self._nvml.nvmlDeviceGetHandleByUUID(self._uuid)
                if self._uuid
                else self._nvml.nvmlDeviceGetHandleByIndex(0)
            )
        except self._nvml.NVMLError as error:
            self._reason = f"NVML does not know the device {self._uuid or 0}: {error}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the library."""
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
        self._nvml, self._handle, self._reason = None, None, "closed"

    def read(self) -> DeviceReading:
        """Everything a number cannot be compared without."""
        if self._handle is None:
            return DeviceReading(state=ReadingState.UNAVAILABLE, reason=self._reason)
        nvml, handle = self._nvml, self._handle
        power = self._told(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        limit = self._told(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
        processes = self._told(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        return DeviceReading(
            state=ReadingState.READ,
            driver=str(self._told(nvml.nvmlSystemGetDriverVersion) or ""),
            sm_clock_mhz=self.sm_clock_mhz(),
            sm_clock_max_mhz=self._told(
                lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
            ),
            memory_clock_mhz=self._told(
                lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)
            ),
            power_w=None if power is None else power / 1000,
            power_limit_w=None if limit is None else limit / 1000,
            temperature_c=self._told(
                lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
            ),
            processes=None if processes is None else len(processes),
            throttle=self.throttle(),
        )

    def sm_clock_mhz(self) -> int | None:
        """The multiprocessors' clock now; None where it is not told."""
        if self._handle is None:
            return None
        nvml = self._nvml
        clock: int | None = self._told(
            lambda: nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_SM)
        )
        return clock

    def throttle(self) -> tuple[str, ...]:
        """What holds the clock down now."""
        if self._handle is None:
            return ()
        nvml = self._nvml
        bits = self._told(lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(self._handle))
        return throttle_names(bits or 0)

    def _told(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - the binding is untyped
        try:
            return ask()
        except self._nvml.NVMLError:  # not supported on this device, or not permitted here
            return None


class RoundWatch:
    """Looks at the device after each round of samples and counts what it saw."""

    def __init__(self, telemetry: Telemetry) -> None:
        """Watch through an open ``telemetry``."""
        self._telemetry = telemetry
        self._clocks: list[int] = []
        self._reasons: Counter[str] = Counter()
        self._disturbed = 0

    def disturbed(self) -> bool:
        """Whether heat or a hardware limit slows the device: that round tells nothing."""
        reasons = self._telemetry.throttle()
        clock = self._telemetry.sm_clock_mhz()
        self._reasons.update(reasons)
        if clock is not None:
            self._clocks.append(clock)
        disturbed = not _DISTURBING.isdisjoint(reasons)
        self._disturbed += disturbed
        return disturbed

    def summary(self) -> dict[str, JsonValue]:
        """For the record: rounds disturbed, rounds per reason, the range of the clock in MHz."""
        return {
            "disturbed": self._disturbed,
            "throttle": dict(self._reasons),
            "sm_clock_mhz": [min(self._clocks), max(self._clocks)] if self._clocks else [],
        }


def throttle_names(bits: int) -> tuple[str, ...]:
    """Names of the set bits; one that no header names yet appears as its number."""
    names = [name for bit, name in _REASONS.items() if bits & bit]
    unknown = bits & ~sum(_REASONS)
    return (*names, hex(unknown)) if unknown else tuple(names)


def read_device(uuid: str = "") -> DeviceReading:
    """One reading of a device, the first one unless a UUID is given."""
    with Telemetry(uuid) as telemetry:
        return telemetry.read()
