"""What a number cannot be compared without, beside the device's own readings: versions, commit."""

import os
import subprocess
from pathlib import Path

from pydantic import JsonValue

import cutegen
from cutegen.measurement.telemetry import read_device
from cutegen.measurement.timing import METHOD

_TIMEOUT_S = 10.0


def driver_version() -> str:
    """The NVIDIA driver's version, or ``unknown`` where NVML does not tell it."""
    return read_device().driver or "unknown"


def git_commit() -> str:
    """The commit of this checkout, ``+`` when it has changes; empty where nobody knows it.

    ``CUTEGEN_COMMIT`` says it for a tree that was carried to a machine without its history.
    """
    if told := os.environ.get("CUTEGEN_COMMIT"):
        return told
    root = str(Path(cutegen.__file__).resolve().parents[1])
    commit = _output(["git", "-C", root, "rev-parse", "HEAD"])
    if not commit:
        return ""
    changes = _output(["git", "-C", root, "status", "--porcelain", "--untracked-files=no"])
    return commit + ("+" if changes else "")


def record(facts: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The environment of a measurement: the baseline worker's facts, driver, method, commit."""
    return {**facts, "driver": driver_version(), "method": METHOD, "commit": git_commit()}


def _output(command: list[str]) -> str:
    """Standard output of a short command; empty when it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
