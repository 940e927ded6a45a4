"""What ``ptxas -v`` says of each kernel: registers, spills, stack, shared memory."""

import re
import shutil
import subprocess
from collections.abc import Sequence

from cutegen.toolchain.protocol import KernelResources

_TIMEOUT_S = 10.0
_ENTRY = re.compile(r"Compiling entry function '(?P<kernel>\S+)' for")
_SPILLS = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<store>\d+) bytes spill stores, "
    r"(?P<load>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(?P<bytes>\d+) bytes smem")


def parse_resources(output: str) -> tuple[KernelResources, ...]:
    """Read every kernel's resources from a build's output, in the order printed.

    Kernels are named as ``c++filt`` reads their names, or by the mangled ones without it.
    """
    resources: list[KernelResources] = []
    kernel = ""
    spills = {"stack": 0, "store": 0, "load": 0}
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            kernel = entry["kernel"]
        elif found := _SPILLS.search(line):
            spills = {name: int(value) for name, value in found.groupdict().items()}
        elif kernel and (used := _USED.search(line)):
            shared = _SHARED.search(line)
            resources.append(
                KernelResources(
                    kernel=kernel,
                    registers=int(used["registers"]),
                    spill_store_bytes=spills["store"],
                    spill_load_bytes=spills["load"],
                    stack_bytes=spills["stack"],
                    static_smem_bytes=int(shared["bytes"]) if shared else 0,
                )
            )
            kernel = ""
    names = demangled([kernel.kernel for kernel in resources])
    return tuple(
        kernel.model_copy(update={"kernel": name})
        for kernel, name in zip(resources, names, strict=True)
    )


def demangled(names: Sequence[str]) -> Sequence[str]:
    """Names as written, without parameters, such as ``void tile<128>``; mangled without c++filt."""
    filt = shutil.which("c++filt")
    if filt is None or not names:
        return names
    try:
        answer = subprocess.run(
            [filt, "--no-params", *names],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            start_new_session=True,
            check=False,
        ).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return names
    return answer if len(answer) == len(names) else names
