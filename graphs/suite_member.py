"""One member of a suite as its own process: a job on standard input, its story on standard output.

See ``suite_process``, which starts it.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from cutegen.events import Event
from cutegen.execution.serving import die_with
from cutegen.faults import RunBusyError, SurroundingsError
from cutegen.graphs.context import Context
from cutegen.graphs.following import CHECKPOINTS, drain
from cutegen.graphs.resuming import stream_resumed
from cutegen.graphs.running import stream_context
from cutegen.graphs.suite_process import MemberJob
from cutegen.result import RunResult
from cutegen.spec import KernelSpec
from cutegen.suite import MemberStatus


def main() -> None:
    """Carry out one job, and say how it went."""
    die_with(int(sys.argv[1]))
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what anybody prints is no part of the story
    job = MemberJob.model_validate_json(sys.stdin.buffer.read())
    try:
        result = _carried_out(job, lambda event: _say(channel, told=event.model_dump(mode="json")))
    except (SurroundingsError, RunBusyError) as error:
        _say(channel, fault=MemberStatus.STOPPED, reason=str(error))
    except (OSError, ValueError) as error:
        _say(channel, fault=MemberStatus.REFUSED, reason=str(error))
    else:
        _say(channel, result=result.model_dump(mode="json"))


def _say(channel: TextIO, **said: object) -> None:
    channel.write(json.dumps(said) + "\n")


def _carried_out(job: MemberJob, tell: Callable[[Event], None]) -> RunResult:
    context = Context(**job.context)  # type: ignore[arg-type] # checked when the run starts
    if (job.run_dir / CHECKPOINTS).exists():
        executor = None if context.executor == "auto" else context.executor
        return drain(stream_resumed(job.run_dir, executor=executor, reply=job.reply), tell)
    return drain(stream_context(_spec(job.spec_file, context), context, job.run_id), tell)


def _spec(file: str, context: Context) -> KernelSpec:
    if file.endswith(".json"):
        return KernelSpec.model_validate_json(Path(file).read_text())
    return KernelSpec.from_kernelbench(file, math_mode=context.math_mode, seed=context.seed)
