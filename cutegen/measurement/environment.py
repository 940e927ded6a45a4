"""What a number cannot be compared without: device, driver, clocks, versions, commit."""

import os
import shutil
import subprocess
from pathlib import Path

import platformdirs
from pydantic import JsonValue

import cutegen
from cutegen.measurement.timing import METHOD

_TIMEOUT_S = 10.0
_STATE = {
    "clocks.sm": "sm_clock_mhz",
    "clocks.max.sm": "sm_clock_max_mhz",
    "clocks.mem": "memory_clock_mhz",
    "power.draw": "power_w",
    "enforced.power.limit": "power_limit_w",
    "temperature.gpu": "temperature_c",
    "utilization.gpu": "utilization_percent",
}
_THROTTLE = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # new name, old name


def cache_folder() -> Path:
    """Where CuTeGen keeps what it need not find out twice: ``CUTEGEN_CACHE``, or the user's."""
    return Path(os.environ.get("CUTEGEN_CACHE") or platformdirs.user_cache_path("cutegen"))


def driver_version() -> str:
    """The NVIDIA driver's version, or ``unknown`` without nvidia-smi."""
    rows = _query("driver_version", "")
    return rows[0] if rows else "unknown"


def device_state(uuid: str = "") -> dict[str, JsonValue]:
    """Clocks (MHz), power (W), temperature (°C) and throttle reasons right now.

    Empty when nvidia-smi is absent; a field that the driver does not know is left out.
    """
    values = _query(",".join(_STATE), uuid)
    if len(values) != len(_STATE):
        return {}
    state = {
        label: _number(value)
        for label, value in zip(_STATE.values(), values, strict=True)
        if not value.startswith("[")  # [N/A], [Not Supported]
    }
    for field in _THROTTLE:
        reasons = _query(field, uuid)
        if reasons:
            return {**state, "throttle_reasons": reasons[0]}
    return state


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


def _query(fields: str, uuid: str) -> list[str]:
    """One row of nvidia-smi; the first device unless a UUID is given."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    chosen = ["-i", uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"] if uuid else []
    text = _output([tool, f"--query-gpu={fields}", "--format=csv,noheader,nounits", *chosen])
    rows = text.splitlines()
    return [value.strip() for value in rows[0].split(",")] if rows else []


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


def _number(text: str) -> JsonValue:
    try:
        return float(text)
    except ValueError:
        return text
