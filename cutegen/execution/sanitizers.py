"""compute-sanitizer's four tools on one small case, side by side."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

from torch import Tensor

from cutegen.execution.bare_job import bare_command, write_job
from cutegen.execution.process import worker_environment
from cutegen.execution.sanitizer_log import SanitizerFinding, parse_sanitizer, refusal_of_tool
from cutegen.frozen import Frozen
from cutegen.spec import Case, KernelSpec

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
_OPTIONS = {"memcheck": ("--report-api-errors", "no")}
_MOST_RECORDS = 20
_LOG_LIMIT = 256 << 10


class SanitizerReport(Frozen):
    """What the tools found: ``ran`` names those that worked, ``skipped`` why others did not."""

    findings: tuple[SanitizerFinding, ...] = ()
    ran: tuple[str, ...] = ()
    skipped: dict[str, str] = {}
    seconds: float = 0.0


class _Running(NamedTuple):
    tool: str
    process: subprocess.Popen[bytes]
    log: Path


class Sanitizing:
    """The tools at work, each on one launch of a candidate. Leaving the context ends them."""

    def __init__(
        self,
        sanitizer: Path,
        spec: KernelSpec,
        case: Case,
        inputs: Mapping[str, Tensor],
        library: Path,
        *,
        cudart: str,
        device: int = 0,
        tools: Sequence[str] = TOOLS,
        timeout_s: float = 60.0,
    ) -> None:
        """Start them.

        Args:
            sanitizer: The ``compute-sanitizer`` program.
            spec: The contract.
            case: A small case: tools slow kernels down up to a hundred times.
            inputs: Its inputs, parameters and buffers by name.
            library: The candidate, built with line numbers.
            cudart: Path of libcudart.
            device: CUDA device index.
            tools: Which of ``TOOLS`` to run.
            timeout_s: Limit for all of them together.
        """
        self._began = time.monotonic()
        self._deadline = self._began + timeout_s
        self._running: list[_Running] = []
        self._folder = TemporaryDirectory(prefix="cutegen-sanitizer-")
        folder = Path(self._folder.name)
        try:
            places: dict[str, str | int] = {
                "library": str(library),
                "cudart": cudart,
                "device": device,
            }
            job = write_job(folder, spec, case, inputs, places)
            for tool in tools:
                self._running.append(_start(sanitizer, tool, folder, job))
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        """They have been started."""
        return self

    def __exit__(self, *_: object) -> None:
        """End those that still run."""
        self.stop()

    def finish(self) -> SanitizerReport:
        """Wait for all of them, and read what they found. Call it once, before ``stop``."""
        findings: list[SanitizerFinding] = []
        ran: list[str] = []
        skipped: dict[str, str] = {}
        for tool in self._running:
            reason = _wait(tool, self._deadline)
            log = _read(tool.log)
            reason = reason or refusal_of_tool(log)
            if not reason and "========= " not in log:
                reason = "it wrote no report"
            if reason:
                skipped[tool.tool] = reason
            else:
                ran.append(tool.tool)
            findings += parse_sanitizer(tool.tool, log)
        return SanitizerReport(
            findings=tuple(findings),
            ran=tuple(ran),
            skipped=skipped,
            seconds=time.monotonic() - self._began,
        )

    def stop(self) -> None:
        """End their process groups, and remove their files."""
        for tool in self._running:
            _end(tool)
        self._running.clear()
        self._folder.cleanup()


def _start(sanitizer: Path, tool: str, folder: Path, job: Path) -> _Running:
    log = folder / f"{tool}.log"
    command = [
        str(sanitizer),
        "--tool",
        tool,
        *_OPTIONS.get(tool, ()),
        "--log-file",
        str(log),
        "--print-limit",
        str(_MOST_RECORDS),
        *bare_command(job),
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**worker_environment(), "TMPDIR": str(folder)},
        start_new_session=True,
    )
    return _Running(tool, process, log)


def _wait(running: _Running, deadline: float) -> str:
    """Wait for one tool, and end its group; why it did not come to its end, or an empty string."""
    try:
        running.process.wait(timeout=max(deadline - time.monotonic(), 0.1))
        reason = ""
    except subprocess.TimeoutExpired:
        reason = "it did not end in time"
    _end(running)
    return reason


def _end(running: _Running) -> None:
    """Kill the group. The tool itself may have ended, and what it started live on."""
    with suppress(ProcessLookupError):
        os.killpg(running.process.pid, signal.SIGKILL)
    running.process.wait()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LOG_LIMIT).decode(errors="replace")
    except FileNotFoundError:
        return ""
