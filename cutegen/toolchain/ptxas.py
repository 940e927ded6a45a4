"""What ``ptxas -v`` says of each kernel: registers, spills, stack, shared memory."""

import re

from cutegen.toolchain.protocol import KernelResources

_ENTRY = re.compile(r"Compiling entry function '(?P<kernel>\S+)' for")
_SPILLS = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<store>\d+) bytes spill stores, "
    r"(?P<load>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(?P<bytes>\d+) bytes smem")


def parse_resources(output: str) -> tuple[KernelResources, ...]:
    """Read every kernel's resources from a build's output, in the order printed.

    Kernel names stay mangled: demangling them would need another tool.
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
    return tuple(resources)
