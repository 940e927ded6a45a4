"""A launch of a candidate with every tensor in an allocation of its own, for a tool that watches.

It runs under compute-sanitizer or Nsight Compute, in a process of its own, imports the standard
library only, and looks at no result. Its argument is the path of a JSON file that ``bare_job.py``
writes.
"""

import ctypes
import json
import sys
from pathlib import Path

from cutegen.execution.cudart import CudaRuntime
from cutegen.execution.serving import confine


def main(argument: str) -> None:
    """Copy the inputs, launch and wait; the exit status is 3 when a launch fails.

    With ``warm_ups`` in the job so many calls come first, and a profiler that does not begin at
    the start sees the one after them alone.
    """
    path = Path(argument)
    job = json.loads(path.read_text(encoding="utf-8"))
    confine(job)
    runtime = CudaRuntime(job["cudart"], job["device"])
    packed = bytearray(bytes.fromhex(job["arguments"]))

    def put(offset: int, value: int) -> None:
        packed[offset : offset + 8] = value.to_bytes(8, sys.byteorder)

    for tensor in job["tensors"]:
        address = runtime.allocate(max(tensor["nbytes"], 1))
        if tensor["file"] and tensor["nbytes"]:
            data = (path.parent / tensor["file"]).read_bytes()
            _fill(runtime, address, data, tensor["nbytes"])
        put(tensor["offset"], address)
    put(job["stream"], runtime.stream())
    library = ctypes.CDLL(job["library"])
    if hasattr(library, "cutegen_workspace_bytes"):
        library.cutegen_workspace_bytes.restype = ctypes.c_size_t
        arguments = ctypes.create_string_buffer(bytes(packed), len(packed))
        nbytes = int(library.cutegen_workspace_bytes(arguments))
        if nbytes:
            put(job["workspace"], runtime.allocate(nbytes))
            put(job["workspace_bytes"], nbytes)
    arguments = ctypes.create_string_buffer(bytes(packed), len(packed))

    def launch() -> None:
        code = int(library.cutegen_launch(arguments))
        runtime.synchronize()
        if code:
            sys.exit(3)

    if "warm_ups" not in job:
        launch()
        return
    for _ in range(job["warm_ups"]):
        launch()
    runtime.call("cudaProfilerStart")
    launch()
    runtime.call("cudaProfilerStop")


def _fill(runtime: CudaRuntime, address: int, data: bytes, nbytes: int) -> None:
    """Put ``data`` at ``address``, over and over until ``nbytes`` are full."""
    host = ctypes.create_string_buffer(data, len(data))
    runtime.copy(address, ctypes.addressof(host), len(data))
    filled = len(data)
    while filled < nbytes:
        more = min(filled, nbytes - filled)
        runtime.copy(address + filled, address, more)
        filled += more


if __name__ == "__main__":
    main(sys.argv[1])
