"""Faults of the surroundings, read from what a build printed: no repair of a source can help."""

import re

from cutegen.frozen import Frozen
from cutegen.status import Status

_KILLED = re.compile(
    r"^(?:Killed"  # the shell between ninja or nvcc and the compiler
    r"|FAILED: \[code=137\].*"  # ninja
    r"|\S+: fatal error: Killed signal terminated program \S+"  # g++ of its cc1plus
    r"|collect2: fatal error: ld terminated with signal 9.*"
    r"|nvcc error\s*: .* died due to signal 9.*"
    r"|cc1plus: out of memory allocating .*"
    r"|virtual memory exhausted: .*)$",
    re.MULTILINE,
)
_UNFIT = (
    (
        re.compile(r"^nvcc fatal\s*: Unsupported gpu architecture .*$", re.MULTILINE),
        "choose an architecture that this nvcc knows (`nvcc --list-gpu-arch`)",
    ),
    (
        re.compile(r"^.*error: -- unsupported GNU version.*$", re.MULTILINE),
        "set CXX to an older g++ that this nvcc accepts",
    ),
    (
        re.compile(
            r"^(?:nvcc fatal\s*: .*|sh: .*(?:cicc|ptxas|cudafe\+\+|fatbinary).*not found"
            r"|.*/ld: cannot find -lcudart_static.*"
            r"|(?:cc1plus|\S*(?:crt/host_config|cuda_runtime)\.h:\d+:\d+): fatal error: .*"
            r"No such file or directory)$",
            re.MULTILINE,
        ),
        "nvcc's installation has holes: `pip install 'cutegen[cuda]'`, or set CUDA_HOME to another",
    ),
    (
        re.compile(r"^.*(?:cannot execute|error trying to exec) .cc1plus.*$", re.MULTILINE),
        "g++ is incomplete: install the distribution's g++ package",
    ),
    (
        re.compile(r"^.*: No space left on device$", re.MULTILINE),
        "free some disk space, or set CUTEGEN_CACHE to a folder that has it",
    ),
    (
        re.compile(r"^ninja: (?:fatal|error): .*$", re.MULTILINE),
        "ninja itself failed: reinstall it (`pip install --force-reinstall ninja`)",
    ),
)


class Fault(Frozen):
    """RESOURCE or ENVIRONMENT, and what a person can do about it."""

    status: Status
    advice: str


def fault_of_surroundings(output: str) -> Fault | None:
    """Find the fault that made a build fail; None when the source is to blame.

    Compilers' drivers tell in words what became of their children, and none of them hands
    signal 9 on as its own exit code, so the words are what there is to read.
    """
    if _KILLED.search(output):
        return Fault(
            status=Status.RESOURCE,
            advice="the compiler was killed, most likely for memory: run fewer builds at a time, "
            "or give the machine more memory",
        )
    for pattern, advice in _UNFIT:
        if found := pattern.search(output):
            return Fault(status=Status.ENVIRONMENT, advice=f"{found[0].strip()}: {advice}")
    return None
