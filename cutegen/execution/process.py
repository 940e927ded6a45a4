"""The parent's end of a worker process: starting it, asking it, and ending it for certain."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

import cutegen
from cutegen.execution.bounded_log import BoundedLog

_BOOT = "import sys; sys.path.insert(0, sys.argv[2]); from {module} import main; main(sys.argv[1])"
_CANDIDATE_WORKER = "cutegen.execution.worker"
_START_TIMEOUT_S = 120.0  # creating a CUDA context on a busy machine takes its time
_REPLY_LIMIT = 1 << 20
_FILE_SIZE_LIMIT = 64 << 20
_CPU_LIMIT_S = 3600
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH")
_ENVIRONMENT_PREFIXES = ("CUDA_", "NVIDIA_", "CUTEGEN_EMU_")


class Ending(StrEnum):
    """How a worker came to its end before it answered."""

    DEADLINE = "deadline"
    SIGNAL = "signal"
    EXIT = "exit"
    GARBLED = "garbled"  # something that is no reply was written to the channel


class WorkerEndedError(RuntimeError):
    """The worker gave no answer; ``detail`` is the signal number, exit status or deadline."""

    def __init__(self, ending: Ending, operation: str, detail: float) -> None:
        """Keep the facts beside the message."""
        super().__init__(f"the worker ended during {operation} ({ending.value} {detail:g})")
        self.ending = ending
        self.operation = operation
        self.detail = detail


class WorkerProcess:
    """One fresh worker in a session and process group of its own.

    Use it as a context manager: on the way out the whole group is killed, whatever the
    candidate may have started.
    """

    def __init__(
        self,
        arena: int | None,
        *,
        cudart: str = "",
        device: int = 0,
        memory_limit: int = 0,
        module: str = _CANDIDATE_WORKER,
        wait: bool = True,
    ) -> None:
        """Start the process.

        Args:
            arena: File descriptor of the shared arena; None for a worker without one.
            cudart: Path of libcudart; empty for a worker on emulated memory.
            device: CUDA device index.
            memory_limit: Address-space limit in bytes; 0 for none (CUDA maps a great deal).
            module: Whose ``main`` the process runs.
            wait: Return only when it is up; else call ``await_start`` before asking it.

        Raises:
            WorkerEndedError: The process did not come up.
            RuntimeError: It came up without its device; the message says why.
        """
        self.folder = mkdtemp(prefix="cutegen-worker-")
        ours, theirs = socket.socketpair()
        read_log, write_log = os.pipe()
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": _FILE_SIZE_LIMIT,
            "RLIMIT_CPU": _CPU_LIMIT_S,
        }
        if memory_limit:
            limits["RLIMIT_AS"] = memory_limit
        settings = {
            "parent": os.getpid(),
            "channel": theirs.fileno(),
            "arena": arena,
            "cudart": cudart,
            "device": device,
            "limits": limits,
            "folder": self.folder,
        }
        # A candidate needs no site packages: their start-up hooks cost more than the worker.
        environment = {**worker_environment(), "HOME": self.folder, "TMPDIR": self.folder}
        flags = ["-I", "-S"]
        if module != _CANDIDATE_WORKER:
            flags = ["-P"]
            environment = worker_environment()
            environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        root = str(Path(cutegen.__file__).resolve().parents[1])
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    *flags,
                    "-c",
                    _BOOT.format(module=module),
                    json.dumps(settings),
                    root,
                ],
                stdin=subprocess.DEVNULL,
                stdout=write_log,
                stderr=write_log,
                pass_fds=(theirs.fileno(), *(() if arena is None else (arena,))),
                env=environment,
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(write_log)
        self._channel = ours
        self._pending = b""
        self._token = ""
        self._log = BoundedLog(read_log)
        self._text: str | None = None
        self._up = False
        if wait:
            self.await_start()

    def await_start(self) -> None:
        """Wait until the process is up; at once when it is.

        Raises:
            WorkerEndedError: The process did not come up.
            RuntimeError: It came up without its device; the message says why.
        """
        if self._up:
            return
        try:
            reply = self._reply("start", _START_TIMEOUT_S)
        except WorkerEndedError as error:
            error.add_note(self.close())
            raise
        if reply["error"]:
            self.close()
            raise RuntimeError(f"the worker process cannot use its device: {reply['error']}")
        self._up = True

    def __enter__(self) -> Self:
        """The process is already up."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def ask(self, operation: str, timeout_s: float, **fields: object) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Raises:
            WorkerEndedError: There is no reply, and the process group is gone.
        """
        # A reply that was not asked for in these words is the candidate's own.
        self._token = secrets.token_hex(8)
        request = json.dumps({"op": operation, "token": self._token, **fields}).encode() + b"\n"
        try:
            self._channel.settimeout(timeout_s)
            self._channel.sendall(request)
        except OSError:
            raise self._end(operation, timeout_s) from None
        return self._reply(operation, timeout_s)

    def _reply(self, operation: str, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                self._kill()
                raise WorkerEndedError(Ending.DEADLINE, operation, timeout_s)
            self._channel.settimeout(left)
            try:
                chunk = self._channel.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                chunk = b""
            if not chunk or len(self._pending) > _REPLY_LIMIT:
                raise self._end(operation, timeout_s)
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if (
            not isinstance(reply, dict)
            or "error" not in reply
            or reply.pop("token", "") != self._token
            or self._pending
        ):
            self._kill()
            raise WorkerEndedError(Ending.GARBLED, operation, 0)
        return reply

    def _end(self, operation: str, timeout_s: float) -> WorkerEndedError:
        """Say how the process ended, once its channel is closed."""
        try:
            status = self._process.wait(timeout=min(timeout_s, 5.0))
        except subprocess.TimeoutExpired:  # it closed the channel and lives on
            self._kill()
            return WorkerEndedError(Ending.GARBLED, operation, 0)
        self._kill()
        if status < 0:
            return WorkerEndedError(Ending.SIGNAL, operation, -status)
        return WorkerEndedError(Ending.EXIT, operation, status)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):  # the whole group may have gone already
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> str:
        """Kill the process group; returns what the candidate printed, bounded."""
        if self._text is None:
            self._channel.close()
            self._kill()
            self._text = self._log.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        return self._text


def worker_environment() -> dict[str, str]:
    """What a candidate may know of our environment: nothing secret is in it."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.startswith(_ENVIRONMENT_PREFIXES)
    }
