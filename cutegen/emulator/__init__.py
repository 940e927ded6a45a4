"""CPU execution of CuTe kernels: C++ headers and the rewriter.

A candidate is rewritten, then compiled by g++ with ``PRECOMPILED_HEADER`` included before its
first line; each CUDA thread becomes a fiber. At a launch the runtime reads three variables:
``CUTEGEN_EMU_ORDER`` (``fifo``, ``reverse`` or ``random``: which thread goes first),
``CUTEGEN_EMU_SEED`` (for ``random``), ``CUTEGEN_EMU_THREADS`` (OS threads to use) and
``CUTEGEN_EMU_POISON`` (the byte that memory holds which nobody has written).

The compiler calls the watcher (``checks/``) at every access of a candidate. It does nothing,
unless ``CUTEGEN_EMU_WATCH`` is 1: then it names out-of-bounds accesses, races and reads of
unwritten shared memory with their lines, at a fraction of the speed.
"""

import platform
from pathlib import Path

from cutegen.emulator.error import EmulationError
from cutegen.emulator.rewriter import rewrite

INCLUDE_DIR = Path(__file__).parent / "include"
PRECOMPILED_HEADER = "cutegen_emulator.h"
_LANGUAGE = (
    "-std=c++17",
    "-fPIC",
    "-pthread",
    "-w",
    "-fwrapv",  # integers overflow as they do on a GPU
    "-fno-strict-aliasing",  # kernels read a float4 where floats were written
    "-fno-gnu-unique",  # two candidates in one process keep their state apart
)
CXX_FLAGS = (
    *_LANGUAGE,
    "-O1",
    "-g1",  # lines
    "--param=ggc-min-heapsize=500000",  # KiB that g++ may use before it looks for garbage: faster
    "-fsanitize=thread",  # calls at every access, for our own functions: its library is not linked
    "--param=tsan-distinguish-volatile=1",
    "-fsanitize=alignment",  # a vector access that a GPU would refuse
    "-fno-sanitize-recover=alignment",  # an access after the check is known to be aligned: faster
    "-fno-tree-sink",  # a load whose value is used behind a bounds check stays before the check
    *(("-mstringop-strategy=libcall",) if platform.machine() == "x86_64" else ()),
)
CHECKS_DIR = Path(__file__).parent / "checks"
CHECKS = ("hooks", "callbacks", "machine")
CHECKS_CXX_FLAGS = (*_LANGUAGE, "-O2")
LINKER_FLAGS = ("--wrap=memcpy", "--wrap=memmove", "--wrap=memset")

__all__ = [
    "CHECKS",
    "CHECKS_CXX_FLAGS",
    "CHECKS_DIR",
    "CXX_FLAGS",
    "INCLUDE_DIR",
    "LINKER_FLAGS",
    "PRECOMPILED_HEADER",
    "EmulationError",
    "rewrite",
]
