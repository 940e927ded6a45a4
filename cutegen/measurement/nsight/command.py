"""Running Nsight Compute: within a time limit, in a process group of its own, its log bounded."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cutegen.execution.process import worker_environment
from cutegen.frozen import Frozen
from cutegen.measurement.nsight import probe
from cutegen.measurement.nsight.report import KernelCounters, parse_raw

_LOG_LIMIT = 64 << 10
_PAGE_LIMIT = 16 << 20
_PROBE_TIMEOUT_S = 60.0
_PROBED = "gpu__cycles_elapsed.max"
_ERROR = re.compile(r"^==ERROR== (.*)$", re.MULTILINE)
# the clocks stay as they are, as for every time that is measured
COMMON = ("--config-file", "off", "--clock-control", "none")


class Access(StrEnum):
    """What came of reading counters."""

    READ = "read"
    ABSENT = "absent"  # Nsight Compute is not installed
    FORBIDDEN = "forbidden"  # the driver keeps counters for the administrator
    TIMEOUT = "timeout"
    NO_KERNEL = "no-kernel"  # the call launched none
    OTHER_KERNEL = "other-kernel"  # what was counted is not the candidate's
    FAILED = "failed"


class Counted(Frozen):
    """The kernels of one call, or why there are none, and what to do about it."""

    access: Access
    reason: str = ""
    advice: str = ""
    kernels: tuple[KernelCounters, ...] = ()
    log: str = ""


_ADVICE = {
    Access.FORBIDDEN: "let the administrator load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0, or run as root (in a container: with CAP_SYS_ADMIN); "
    "see NVIDIA's page on ERR_NVGPUCTRPERM",
    Access.TIMEOUT: "give the spec smaller timed shapes, or the profiler more time",
    Access.FAILED: "run `cutegen doctor`; a virtual machine or container may not pass counters on",
}


def run(command: Sequence[str | Path], folder: Path, timeout_s: float) -> tuple[int | None, str]:
    """Run a command of Nsight Compute's in ``folder``.

    Returns:
        The exit status, None when time was up; and what it printed, bounded.
    """
    output = folder / "output.txt"
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**worker_environment(), "TMPDIR": str(folder)},
            start_new_session=True,
        )
        status: int | None = None
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(timeout=timeout_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with output.open("rb") as stream:
        return status, stream.read(_PAGE_LIMIT).decode(errors="replace")


def failure(status: int | None, log: str, timeout_s: float) -> Counted:
    """Why a run of Nsight Compute left no counters."""
    errors = " ".join(dict.fromkeys(_ERROR.findall(log)))
    if "ERR_NVGPUCTRPERM" in log:
        access = Access.FORBIDDEN
        reason = "the driver lets only the administrator read counters (ERR_NVGPUCTRPERM)"
    elif status is None:
        access, reason = Access.TIMEOUT, f"Nsight Compute did not end within {timeout_s:g} s"
    elif "No kernels were profiled" in log:
        access, reason = Access.NO_KERNEL, "the profiled call launched no kernel"
    else:
        access = Access.FAILED
        reason = f"Nsight Compute failed: {errors or log.strip()[-400:] or f'status {status}'}"
    return Counted(
        access=access, reason=reason, advice=_ADVICE.get(access, ""), log=log[-_LOG_LIMIT:]
    )


@cache
def counter_access(ncu: Path, device: int = 0) -> Counted:
    """Whether counters can be read on a device: asked once per process, in a few seconds."""
    program = (sys.executable, "-I", "-S", str(Path(probe.__file__)), str(device))
    with TemporaryDirectory(prefix="cutegen-ncu-") as folder:
        status, log = run(
            (ncu, *COMMON, "--metrics", _PROBED, "--csv", "--page", "raw", *program),
            Path(folder),
            _PROBE_TIMEOUT_S,
        )
    kernels = parse_raw(log)
    if kernels and kernels[0].value(_PROBED) is not None:
        return Counted(access=Access.READ, kernels=kernels)
    return failure(status, log, _PROBE_TIMEOUT_S)
