"""The child's end of a worker process: confinement, and a loop of JSON requests and replies.

It imports the standard library only, as the candidate's worker does.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any

_PR_SET_PDEATHSIG = 1

Message = dict[str, Any]


def confine(settings: Message) -> None:
    """Die with the parent, dump no core, fill no disk, spin no longer than allowed."""
    die_with(settings["parent"])
    for name, limit in settings["limits"].items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        ceiling = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (ceiling, ceiling))
    # Python ignores it, and then a candidate that floods a file goes on for ever in vain.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    Args:
        parent: Its process id; 0 if a tool stands between.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent not in (os.getppid(), 0):
        sys.exit(1)  # the parent died before the line above


def serve(
    channel: int,
    start: Callable[[], Mapping[str, Callable[[Message], Message]]],
    expected: tuple[type[Exception], ...],
) -> None:
    """Answer requests until the parent closes the channel.

    Args:
        channel: File descriptor of the socket.
        start: Makes what the operations need, and returns them by name.
        expected: Exceptions that become the ``error`` of a reply; others end the process.
    """
    stream = socket.socket(fileno=channel).makefile("rwb")

    def reply(message: Message) -> None:
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()

    try:
        operations = start()
    except expected as error:
        reply({"error": f"device: {error}", "token": ""})
        return
    reply({"error": "", "token": ""})
    for line in stream:
        request = json.loads(line)
        token = request.pop("token")
        try:
            reply({"error": "", **operations[request["op"]](request), "token": token})
        except expected as error:
            reply({"error": f"{type(error).__name__}: {error}", "token": token})
