"""What this device can do at best, measured on it once and kept.

Copy bandwidth is a device-to-device copy, bytes read and written counted. The rate of
matrix products is the vendor library's at each math mode, so it is a ceiling in practice and
no law of nature: ``Ceilings.most_flops_per_s`` says what is beyond belief.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from filelock import FileLock
from pydantic import ValidationError

from cutegen.frozen import Frozen
from cutegen.measurement.math_mode import set_math_mode
from cutegen.measurement.torch_events import elapsed_us, timing_event
from cutegen.spec import MathMode

_VERSION = 1
_LEAST_COPY = 1 << 30
_EXTENT = 8192
_REPEATS = 20
_WARM_UP_S = 0.1
_LIBRARY_SHARE = 1.5  # no cuBLAS product of this size runs below two thirds of the peak
_PASSES = 3  # products of two 11-bit parts each that make one of fp32 accuracy
_DTYPES = {
    MathMode.FP32: torch.float32,
    MathMode.TF32: torch.float32,
    MathMode.BF16: torch.bfloat16,
    MathMode.FP16: torch.float16,
}


class Ceilings(Frozen):
    """Measured limits of one device: bytes per second, and operations per second by mode."""

    device: str
    driver: str
    copy_bytes_per_s: float
    library_flops_per_s: dict[MathMode, float]
    l2_bytes: int
    version: int = _VERSION

    def flops_per_s(self, mode: MathMode) -> float:
        """The rate to aim at: the library's, or for fp32 what the tensor cores make of it.

        Three products of parts of 11 bits give one of fp32 accuracy. TF32 has 11 bits, and so
        has a half, whose range suffices once rows and columns are scaled (H. Ootomo and
        R. Yokota, Recovering single precision accuracy from Tensor Cores, IJHPCA 36(4), 2022).
        """
        library = self.library_flops_per_s[mode]
        if mode is MathMode.FP32:
            parts = (self.library_flops_per_s[part] for part in (MathMode.TF32, MathMode.FP16))
            return max(library, max(parts) / _PASSES)
        return library

    def most_flops_per_s(self, mode: MathMode) -> float:
        """A rate that no honest kernel exceeds, though one may well exceed the library's."""
        return _LIBRARY_SHARE * self.flops_per_s(mode)


def measure_ceilings(device: torch.device, driver: str) -> Ceilings:
    """Measure on an idle device, in about two seconds. Changes this process's math mode.

    Raises:
        torch.OutOfMemoryError: There is not even room for two buffers of 1 GiB.
    """
    properties = torch.cuda.get_device_properties(device)
    return Ceilings(
        device=properties.name,
        driver=driver,
        copy_bytes_per_s=_copy_bytes_per_s(device),
        library_flops_per_s={mode: _flops_per_s(device, mode) for mode in MathMode},
        l2_bytes=properties.L2_cache_size,
    )


def _copy_bytes_per_s(device: torch.device) -> float:
    free, _ = torch.cuda.mem_get_info(device)
    nbytes = max(_LEAST_COPY, min(4 << 30, free // 4))
    source = torch.empty(nbytes, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    return 2 * nbytes / _median_us(lambda: target.copy_(source)) * 1e6


def _flops_per_s(device: torch.device, mode: MathMode) -> float:
    set_math_mode(mode)
    # Values drawn from a normal distribution: zeros would cost less power and run faster.
    left = torch.randn(_EXTENT, _EXTENT, device=device).to(_DTYPES[mode])
    right = torch.randn(_EXTENT, _EXTENT, device=device).to(_DTYPES[mode])
    product = torch.empty_like(left)
    return 2 * _EXTENT**3 / _median_us(lambda: torch.mm(left, right, out=product)) * 1e6


def _median_us(call: Callable[[], object]) -> float:
    end = time.monotonic() + _WARM_UP_S
    call()
    torch.cuda.synchronize()
    while time.monotonic() < end:
        call()
        torch.cuda.synchronize()
    times = []
    for _ in range(_REPEATS):
        start, stop = timing_event(), timing_event()
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(elapsed_us(start, stop))
    return median(times)


def cached_ceilings(
    folder: Path, device: str, driver: str, measure: Callable[[], Ceilings]
) -> Ceilings:
    """The ceilings of a device under a driver, measured only when they are not yet known.

    Args:
        folder: Where they are kept, one JSON file per device and driver.
        device: The device's name.
        driver: The driver's version.
        measure: Measures them; called at most once, and by one process at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device} {driver}").strip("-")
    path = folder / f"{name}.json"
    with FileLock(f"{path}.lock"):
        try:
            known = Ceilings.model_validate_json(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValidationError):  # never measured, or by another version
            known = None
        if known is None or known.version != _VERSION:
            known = measure()
            path.write_text(known.model_dump_json(indent=2), encoding="utf-8")
    return known
