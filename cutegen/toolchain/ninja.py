"""One build: a fresh directory, one ninja file, a time limit, the whole process group killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from cutegen.frozen import Frozen

_LOG_HALF = 64 << 10


class Ending(StrEnum):
    """How a build came to its end."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    KILLED = "killed"  # signal 9, almost always the machine's memory


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

    Nothing of the build is left running when this returns, whatever ended it.
    """
    (directory / "build.ninja").write_text(_ninja_file(steps))
    log = directory / "build.log"
    started = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "ninja", "-C", str(directory), "-j", "1", "-v"],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "NINJA_STATUS": ""},
        )
        try:
            code = process.wait(timeout_s)
            ending = Ending.DONE if code == 0 else Ending.FAILED
        except subprocess.TimeoutExpired:
            ending = Ending.TIMEOUT
        finally:
            _kill_group(process)
    output = _bounded(log)
    if ending is Ending.FAILED and _was_killed(output):
        ending = Ending.KILLED
    return Built(ending=ending, output=output, seconds=time.monotonic() - started)


def _ninja_file(steps: Sequence[BuildStep]) -> str:
    lines = ["ninja_required_version = 1.5"]
    for index, step in enumerate(steps):
        command = " ".join(_quoted(word) for word in step.argv)
        lines += [
            f"rule step{index}",
            f"  command = {command}",
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


def _was_killed(output: str) -> bool:
    """A compiler's driver reports the signal of its child in words; none sets its exit code."""
    signs = ("Killed signal", "signal 9", "Killed\n", "status 137", "died due to signal 9")
    return any(sign in output for sign in signs)
