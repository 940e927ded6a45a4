"""What this machine can do: every outside thing CuTeGen may use, and what to do without it."""

import ctypes
import os
import platform
import shutil
import sys
from collections.abc import Callable
from enum import StrEnum

import torch

from cutegen.execution.cuda import CudaExecutor
from cutegen.execution.protocol import EnvironmentUnfitError
from cutegen.execution.sandbox_probe import probe
from cutegen.frozen import Frozen
from cutegen.measurement.nsight.command import Access, counter_access
from cutegen.measurement.self_test import SelfTest, SelfTestState, run_self_test
from cutegen.measurement.telemetry import ReadingState, read_device
from cutegen.toolchain.cache import default_cache_dir
from cutegen.toolchain.discovery import (
    ToolNotFoundError,
    find_cuobjdump,
    find_cutlass,
    find_gxx,
    find_ncu,
    find_nvcc,
    find_sanitizer,
)

_LEAST_FREE = 256 << 20  # bytes; a build takes a few megabytes


class Health(StrEnum):
    """How a part of the machine is."""

    OK = "ok"
    DEGRADED = "degraded"  # absent, and CuTeGen does less without it
    MISSING = "missing"  # absent, and no kernel can be made without it


class Finding(Frozen):
    """One part of the machine: how it is, what was found, and what to do about it."""

    part: str
    health: Health
    detail: str
    advice: str = ""


class Examination(Frozen):
    """All findings. ``executors`` names those that can judge a kernel here.

    ``clock`` is the self-test of the clock; None when it was not asked for.
    """

    findings: tuple[Finding, ...]
    executors: tuple[str, ...]
    clock: SelfTest | None = None


def examine(*, self_test: bool = False) -> Examination:
    """Look at every part; never raises because one is absent.

    Args:
        self_test: Also time kernels whose time is known; a minute, the builds included.
    """
    findings = (
        Finding(
            part="python",
            health=Health.OK,
            detail=f"{platform.python_version()} at {sys.executable}",
        ),
        Finding(part="torch", health=Health.OK, detail=torch.__version__),
        _tool("g++", lambda: find_gxx().describe(), without=Health.DEGRADED),
        _tool("CUTLASS", lambda: find_cutlass().describe(), without=Health.MISSING),
        _tool("nvcc", lambda: find_nvcc().describe(), without=Health.DEGRADED),
        _driver(),
        _gpu(),
        _nvml(),
        _cache(),
        _sandbox(),
        _tool("sanitizer", lambda: find_sanitizer().describe(), without=Health.DEGRADED),
        _tool("cuobjdump", lambda: find_cuobjdump().describe(), without=Health.DEGRADED),
        _counters(),
    )
    usable = {finding.part for finding in findings if finding.health is Health.OK}
    executors = tuple(
        name
        for name, needs in (
            ("cuda", {"CUTLASS", "nvcc", "GPU", "cache"}),
            ("emulated", {"CUTLASS", "g++", "cache"}),
        )
        if needs <= usable
    )
    return Examination(
        findings=findings, executors=executors, clock=_clock() if self_test else None
    )


def _clock() -> SelfTest:
    try:
        # the probes use a stream of their own, which no candidate may
        bench = CudaExecutor(police=False)
    except (EnvironmentUnfitError, ToolNotFoundError) as error:
        return SelfTest(state=SelfTestState.UNAVAILABLE, reason=str(error))
    return run_self_test(bench)


def _tool(part: str, find: Callable[[], str], without: Health) -> Finding:
    try:
        return Finding(part=part, health=Health.OK, detail=find())
    except ToolNotFoundError as error:
        return Finding(part=part, health=without, detail="not found", advice=str(error))


def _driver() -> Finding:
    """The NVIDIA driver, and whether it is new enough for PyTorch's CUDA."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Finding(
            part="driver",
            health=Health.DEGRADED,
            detail="libcuda.so.1 is not found",
            advice="install the NVIDIA driver, or start the container with --gpus all; without "
            "it kernels are verified on the emulator",
        )
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    major, minor = version.value // 1000, version.value % 1000 // 10
    built = tuple(map(int, (torch.version.cuda or "0.0").split(".")[:2]))
    if (major, minor) >= built or major == built[0]:  # minor versions of CUDA are compatible
        return Finding(part="driver", health=Health.OK, detail=f"for CUDA {major}.{minor}")
    return Finding(
        part="driver",
        health=Health.DEGRADED,
        detail=f"for CUDA {major}.{minor}, but PyTorch is built with {torch.version.cuda}",
        advice="install a newer driver, or a PyTorch that is built with an older CUDA",
    )


def _gpu() -> Finding:
    if not torch.cuda.is_available():
        return Finding(
            part="GPU",
            health=Health.DEGRADED,
            detail="PyTorch sees none",
            advice="kernels are verified on the emulator and stay unmeasured; carry the run "
            "folder to a GPU machine and call `cutegen resume RUN --executor cuda` there",
        )
    properties = torch.cuda.get_device_properties(0)
    return Finding(
        part="GPU",
        health=Health.OK,
        detail=f"{properties.name}, compute capability {properties.major}.{properties.minor}, "
        f"{properties.total_memory / 2**30:.0f} GiB",
    )


def _nvml() -> Finding:
    reading = read_device()
    if reading.state is ReadingState.UNAVAILABLE:
        return Finding(
            part="NVML",
            health=Health.DEGRADED,
            detail=reading.reason,
            advice="times are taken without clocks, power and throttle reasons; on a machine "
            "with an NVIDIA driver, pip install nvidia-ml-py",
        )
    return Finding(
        part="NVML",
        health=Health.OK,
        detail=f"driver {reading.driver}, SM clock {reading.sm_clock_mhz} MHz, "
        f"{reading.power_w} W, throttled by {', '.join(reading.throttle) or 'nothing'}",
    )


def _sandbox() -> Finding:
    """What a worker is really kept from: one is closed off, and tries."""
    try:
        held = probe()
    except (OSError, RuntimeError) as error:
        return Finding(
            part="sandbox",
            health=Health.DEGRADED,
            detail=f"a confined process cannot be started: {error}",
            advice="set CUTEGEN_SANDBOX to the layers that work (memory,landlock,seccomp), or off",
        )
    layers = [
        name
        for name, there in (
            (f"Landlock {held.landlock}", held.landlock),
            ("system-call filter", held.seccomp),
            ("memory limit", held.memory),
        )
        if there
    ]
    open_doors = [door for door, refused in held.refused.items() if not refused]
    return Finding(
        part="sandbox",
        health=Health.DEGRADED if open_doors else Health.OK,
        detail=f"{', '.join(layers) or 'process group and time limits only'}; refused: "
        f"{', '.join(door for door in held.refused if door not in open_doors) or 'nothing'}",
        advice=f"not refused here: {', '.join(open_doors)}; Linux 5.13 or newer on x86-64 refuses "
        "them, so judge only candidates that you would run yourself"
        if open_doors
        else "",
    )


def _cache() -> Finding:
    """Where builds are kept, and whether they can be."""
    folder = default_cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return _no_cache(f"{folder}: {error}")
    if not os.access(folder, os.W_OK):
        return _no_cache(f"{folder} cannot be written to")
    if free < _LEAST_FREE:
        return _no_cache(f"{folder} has only {free / 2**20:.0f} MiB left")
    return Finding(
        part="cache", health=Health.OK, detail=f"{folder}, {free / 2**30:.0f} GiB are free"
    )


def _no_cache(detail: str) -> Finding:
    return Finding(
        part="cache",
        health=Health.MISSING,
        detail=detail,
        advice="let CUTEGEN_CACHE name a folder with room, to which you may write",
    )


def _counters() -> Finding:
    """Whether Nsight Compute is here, and whether it may read hardware counters: it tries."""
    try:
        ncu = find_ncu()
    except ToolNotFoundError as error:
        return Finding(part="ncu", health=Health.DEGRADED, detail="not found", advice=str(error))
    if not torch.cuda.is_available():
        return Finding(part="ncu", health=Health.OK, detail=f"{ncu.describe()}; no GPU to count on")
    allowed = counter_access(ncu.path)
    if allowed.access is Access.READ:
        return Finding(part="ncu", health=Health.OK, detail=f"{ncu.describe()}, counters readable")
    return Finding(
        part="ncu",
        health=Health.DEGRADED,
        detail=f"{ncu.describe()}: {allowed.reason}",
        advice=f"{allowed.advice or 'run ncu by hand to see more'}; until then profiles rest on "
        "what the compiler says and on the time",
    )
