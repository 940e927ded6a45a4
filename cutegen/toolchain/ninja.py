"""One build: a fresh directory, one ninja file, a time limit, the whole process group killed."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from enum import StrEnum
from math import ceil
from pathlib import Path

from ninja import BIN_DIR

from cutegen.frozen import Frozen

_LOG_HALF = 64 << 10
# nvcc's own way to add flags would change a build behind the cache key's back
_LEFT_OUT = frozenset({"NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"})


class Ending(StrEnum):
    """How a build came to its end."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    KILLED = "killed"  # ninja itself, by somebody else's signal


class BuildStep(Frozen):
    """One command: ``argv`` makes ``output`` from ``inputs``, all in the build directory."""

    output: str
    inputs: tuple[str, ...]
    argv: tuple[str, ...]


class Built(Frozen):
    """What became of a build, and what it printed (its first and last 64 KiB)."""

    ending: Ending
    output: str
    seconds: float


def run_ninja(directory: Path, steps: Sequence[BuildStep], timeout_s: float) -> Built:
    """Run ``steps`` in ``directory`` one after another.

    Nothing of the build is left running when this returns, whatever ended it. Should this
    process itself be killed, each command still dies of its limit of processor time, and the
    compilers' temporary files lie in ``directory``.

    Raises:
        OSError: ninja cannot be started, or the directory cannot be written.
    """
    (directory / "build.ninja").write_text(_ninja_file(steps, timeout_s), encoding="utf-8")
    log = directory / "build.log"
    started = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [Path(BIN_DIR) / "ninja", "-C", directory, "-j", "1"],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=_environment(directory),
        )
        try:
            ending = _ending(process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            ending = Ending.TIMEOUT
        finally:
            if process.returncode is None or process.returncode < 0:
                _kill_group(process)
    return Built(ending=ending, output=_bounded(log), seconds=time.monotonic() - started)


def _ending(code: int) -> Ending:
    if code < 0:
        return Ending.KILLED
    return Ending.DONE if code == 0 else Ending.FAILED


def _environment(directory: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    return {**inherited, "LC_ALL": "C", "NINJA_STATUS": "", "TMPDIR": str(directory)}


def _ninja_file(steps: Sequence[BuildStep], timeout_s: float) -> str:
    lines = ["ninja_required_version = 1.5"]
    for index, step in enumerate(steps):
        command = " ".join(_quoted(word) for word in step.argv)
        lines += [
            f"rule step{index}",
            f"  description = {step.output}",
            "  pool = console",  # elsewhere ninja gives a command a process group of its own
            f"  command = ulimit -t {2 * ceil(timeout_s)} && exec {command}",
            f"build {step.output}: step{index} {' '.join(step.inputs)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    """Quote for the shell that ninja uses, then for ninja itself."""
    return "'" + word.replace("'", "'\\''").replace("$", "$$") + "'"


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _bounded(log: Path) -> str:
    size = log.stat().st_size
    with log.open("rb") as stream:
        if size <= 2 * _LOG_HALF:
            return stream.read().decode(errors="replace")
        head = stream.read(_LOG_HALF)
        stream.seek(-_LOG_HALF, os.SEEK_END)
        tail = stream.read()
    middle = f"\n[{size - 2 * _LOG_HALF} bytes left out]\n".encode()
    return (head + middle + tail).decode(errors="replace")
