"""CPU execution of CuTe kernels: C++ headers and the rewriter.

A candidate is rewritten, then compiled by g++ with ``PRECOMPILED_HEADER`` included before its
first line; each CUDA thread becomes a fiber. At a launch the runtime reads three variables:
``CUTEGEN_EMU_ORDER`` (``fifo``, ``reverse`` or ``random``: which thread goes first),
``CUTEGEN_EMU_SEED`` (for ``random``) and ``CUTEGEN_EMU_THREADS`` (OS threads to use).
"""

from pathlib import Path

from cutegen.emulator.error import EmulationError
from cutegen.emulator.rewriter import rewrite

INCLUDE_DIR = Path(__file__).parent / "include"
PRECOMPILED_HEADER = "cutegen_emulator.h"
CXX_FLAGS = (
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-pthread",
    "-w",
    "-fwrapv",  # integers overflow as they do on a GPU
    "-fno-strict-aliasing",  # kernels read a float4 where floats were written
    "-fsanitize=alignment",  # a vector access that a GPU would refuse; see alignment.hpp
    "-fno-sanitize-recover=alignment",  # an access after the check is known to be aligned: faster
    "-fno-gnu-unique",  # two candidates in one process keep their state apart
)

__all__ = ["CXX_FLAGS", "INCLUDE_DIR", "PRECOMPILED_HEADER", "EmulationError", "rewrite"]
