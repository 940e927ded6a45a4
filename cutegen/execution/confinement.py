"""Closing a worker off from the machine, once it has opened what it needs itself.

Landlock leaves it the system's libraries, the GPU's device nodes and a folder of its own; a
system-call filter takes the network, other processes and new privileges away; rlimits bound its
memory. All of it happens inside the process, after CUDA has found its driver and before the
candidate is loaded: nothing has to be mounted, no helper program or user namespace is needed
(distributions forbid those), and it takes about a millisecond.
"""

import ctypes
import glob
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from cutegen.execution.landlock import DEVICE, FOLDER, READ, Access, restrict_files
from cutegen.execution.seccomp import filter_system_calls

_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
_KERNEL = ("/proc", "/sys")  # of other processes, Landlock shows what everybody may see
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPU_DEVICES = ("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dxg")


LAYERS = ("memory", "landlock", "seccomp")
"""What there is, from the inside out."""


def close_off(
    folder: str, readable: list[str], memory: int, layers: Sequence[str] = LAYERS
) -> dict[str, int]:
    """Confine this process for good.

    Args:
        folder: The only place where it may write.
        readable: What it may read besides the system's libraries.
        memory: Bytes of private memory it may add to what it has.
        layers: Which of ``LAYERS`` to use.

    Returns:
        What is in force: the version of ``landlock``, whether ``seccomp`` filters, and
        whether ``memory`` is bounded; 0 stands for what this machine cannot do.

    Raises:
        OSError: The machine can, and refuses.
    """
    os.chdir(folder)
    if layers:
        _drop_capabilities()
    bounded = "memory" in layers and _bound_memory(memory)
    version = _landlock(folder, readable) if "landlock" in layers else 0
    filtered = "seccomp" in layers and filter_system_calls(files=not version)
    return {"landlock": version, "seccomp": int(filtered), "memory": int(bounded)}


def chosen_layers() -> list[str]:
    """The layers of confinement in use: all, or those that ``CUTEGEN_SANDBOX`` names.

    A machine whose driver cannot live with one of them can go without it; verdicts say so.
    """
    chosen = os.environ.get("CUTEGEN_SANDBOX", ",".join(LAYERS)).split(",")
    return [layer for layer in LAYERS if layer in chosen]


def _drop_capabilities() -> None:
    """Root without capabilities: Landlock alone lets CAP_PERFMON read others' environments."""
    header, none = struct.pack("=Ii", 0x20080522, 0), bytes(24)  # _LINUX_CAPABILITY_VERSION_3
    ctypes.CDLL(None).capset(header, none)


def _landlock(folder: str, readable: list[str]) -> int:
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: what an unprivileged caller owes
    return restrict_files(_grants(folder, readable))


def _grants(folder: str, readable: list[str]) -> Iterator[tuple[str, Access]]:
    standard_library = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib is slow to import
    for path in (*_LIBRARIES, *_KERNEL, standard_library, *_driver_folders(), *readable):
        yield path, READ
    for pattern in (*_DEVICES, *_GPU_DEVICES):
        for path in glob.glob(pattern):  # noqa: PTH207 - the same
            yield path, DEVICE
    yield folder, FOLDER


def _driver_folders() -> set[str]:
    """Where the GPU's driver was loaded from: it may load more of itself later."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
        paths = [line.split(maxsplit=5)[-1].strip() for line in maps if "libcuda.so" in line]
    return {os.path.dirname(path) for path in paths if path.startswith("/")}  # noqa: PTH120


def _bound_memory(more: int) -> bool:
    """Private writable memory: what is mapped of a device or a file does not count."""
    if not more:
        return False
    with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 - procfs
        used = next((int(line.split()[1]) << 10 for line in status if "VmData" in line), 0)
    limit = used + more
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return True


def main(folder: str) -> None:
    """Confine this process as a worker, try to break out, and print what held as JSON."""
    held = close_off(folder, [], _PROBE_MEMORY)
    refused = {name: _is_refused(attempt, folder) for name, attempt in _ATTEMPTS.items()}
    sys.stdout.write(json.dumps({**held, "refused": refused}))


def _is_refused(attempt: Callable[[str], object], folder: str) -> bool:
    try:
        attempt(folder)
    except OSError:
        return True
    return False


def _write_outside(folder: str) -> None:
    path = f"{folder}-outside"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    os.unlink(path)  # noqa: PTH108 - it worked, so leave nothing


_PROBE_MEMORY = 1 << 30
_ATTEMPTS: Mapping[str, Callable[[str], object]] = {
    "writing files": _write_outside,
    "reading files": lambda _: os.listdir("/"),  # noqa: PTH208 - the same
    "the network": lambda _: socket.socket(socket.AF_INET).close(),
    "new processes": lambda _: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
}
