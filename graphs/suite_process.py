"""Members of a suite as their parent sees them: each run is a process of its own.

Runs of one process would share PyTorch's default dtype, random state and threads, and a crash;
side by side they need processes. The parent sends one job as JSON; the child (``suite_member``)
answers with one line for each event, and with the result, or the fault, as the last line.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from cutegen.events import AgentWaits, Event, parse_event, read_events
from cutegen.execution.bounded_log import BoundedLog
from cutegen.frozen import Frozen
from cutegen.graphs.context import Context
from cutegen.graphs.gpus import Gpus, gpus_here
from cutegen.result import LOG_FILE, RunResult
from cutegen.store import write_atomically
from cutegen.suite import MemberStatus, SuiteMember

CONTEXT_FILE = "context.json"
_WAITING = "waiting.json"
_PLAIN = frozenset(field.name for field in fields(Context))
_BOOT = "from cutegen.graphs.suite_member import main; main()"
_GRACE_S = 1800.0  # a run's own limit is looked at between nodes, and a node may take long
_NO_LIMIT_S = 7 * 86400.0


class MemberJob(Frozen):
    """What one process has to do. ``context`` holds the plain fields of a ``Context``."""

    run_id: str
    spec_file: str  # a KernelBench-format file, or a KernelSpec as JSON
    context: dict[str, JsonValue]
    reply: str | None = None  # a person's, to the question that the run waits at

    @property
    def run_dir(self) -> Path:
        """The run's folder."""
        return Path(str(self.context["runs_dir"])) / self.run_id

    @property
    def limit_s(self) -> float:
        """Seconds after which the process is ended."""
        wall_s = self.context.get("wall_s")
        return wall_s + _GRACE_S if isinstance(wall_s, int | float) and wall_s else _NO_LIMIT_S


class Members:
    """The processes at work; a caller who is interrupted ends them all."""

    def __init__(self) -> None:
        """None yet."""
        self.gpus = Gpus(gpus_here())
        self._lock = threading.Lock()
        self._alive: set[int] = set()
        self._ended = False

    def add(self, group: int) -> None:
        """A process group begins; it is ended at once if all were."""
        with self._lock:
            self._alive.add(group)
            if self._ended:
                self._kill(group)

    def discard(self, group: int) -> None:
        """A process group is ended, whatever it has left behind."""
        with self._lock:
            self._kill(group)
            self._alive.discard(group)

    def end(self) -> None:
        """End all, and every one that begins from now on."""
        with self._lock:
            self._ended = True
            for group in self._alive:
                self._kill(group)

    def _kill(self, group: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def carry_out(job: MemberJob, tell: Callable[[Event], None], members: Members) -> SuiteMember:
    """Run a job in a process of its own; whatever goes wrong becomes the member's status.

    Args:
        job: The job.
        tell: Called with each event.
        members: Where the process is known while it lives.
    """
    with members.gpus.environment() as seen:
        return _carried_out(job, tell, members, seen)


def _carried_out(
    job: MemberJob, tell: Callable[[Event], None], members: Members, seen: dict[str, str]
) -> SuiteMember:
    read_log, write_log = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOT, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=write_log,
            env={
                "OMP_WAIT_POLICY": "PASSIVE",  # see cutegen.cli
                **os.environ,
                **seen,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            start_new_session=True,
        )
    finally:
        os.close(write_log)
    log = BoundedLog(read_log)
    members.add(process.pid)
    alarm = threading.Timer(job.limit_s, os.killpg, (process.pid, signal.SIGKILL))
    alarm.daemon = True
    alarm.start()
    try:
        last = _hear(process, job, tell)
    finally:
        alarm.cancel()
        members.discard(process.pid)
        code = process.wait()
        text = log.close()
    return _member(job, last, code, text)


def _hear(
    process: "subprocess.Popen[bytes]", job: MemberJob, tell: Callable[[Event], None]
) -> dict[str, Any]:
    """Send the job, and read to the last line; empty if there was none."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, suppress(BrokenPipeError):
        process.stdin.write(job.model_dump_json().encode())
        process.stdin.close()
        for line in process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "told" not in said:
                return said
            tell(parse_event(said["told"]))
    return {}


def _member(job: MemberJob, last: dict[str, Any], code: int, log: str) -> SuiteMember:
    if "result" in last:
        return SuiteMember.of_run(job.spec_file, RunResult.model_validate(last["result"]))
    status, reason = MemberStatus.BROKEN, f"its process ended with {code}: {_last_line(log)}"
    if "fault" in last:
        status, reason = MemberStatus(last["fault"]), last["reason"]
    return SuiteMember.without_result(job.spec_file, job.run_dir, status, reason)


def _last_line(log: str) -> str:
    lines = log.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def keep_question(job: MemberJob, member: SuiteMember) -> None:
    """Keep what a member waits for, so that nobody starts its process only to hear it again."""
    write_atomically(job.run_dir / _WAITING, member.model_dump_json())


def waits_still(job: MemberJob) -> SuiteMember | None:
    """The member, if it waits for a reply that nobody has given since its process ended."""
    file = job.run_dir / _WAITING
    if not file.exists():
        return None
    member = SuiteMember.model_validate_json(file.read_text())
    last = read_events(job.run_dir / LOG_FILE)[-1]
    asked = member.question.prompt_file if member.question else None
    same = isinstance(last, AgentWaits) and Path(last.prompt_file) == asked
    return member if same else None


def keep_context(suite_dir: Path, context: Context) -> None:
    """Keep the choices of a suite, which all its members run with."""
    plain = {name: value for name, value in asdict(context).items() if name in _PLAIN}
    write_atomically(suite_dir / CONTEXT_FILE, json.dumps(plain, indent=2))


def kept_context(suite_dir: Path) -> Context:
    """The choices that were kept; the members' folders lie in the suite's, wherever that is."""
    plain = json.loads((suite_dir / CONTEXT_FILE).read_text())
    return Context(**plain | {"runs_dir": str(suite_dir)})


def job_of(run_id: str, spec_file: str, suite_dir: Path, reply: str | None = None) -> MemberJob:
    """The job of a member."""
    context = asdict(kept_context(suite_dir))
    return MemberJob(run_id=run_id, spec_file=spec_file, context=context, reply=reply)
