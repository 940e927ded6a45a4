"""Kernels built with the real toolchain, and called in this process or in one of their own."""

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from cutegen.status import Status
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.protocol import BuildRequest

KERNELS = Path(__file__).parent / "kernels"
HEADER = """\
#pragma once
#include <cuda_runtime.h>
#include <string.h>
struct CutegenArgs {
  char const* name;
  int m, n, k, grid, block;
  float const* a;
  float const* b;
  float* out;
  cudaStream_t stream;
  bool calls(char const* kernel) const { return !strcmp(name, kernel); }
};
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a);
"""

Array = npt.NDArray[np.float32]


class Args(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("m", ctypes.c_int),
        ("n", ctypes.c_int),
        ("k", ctypes.c_int),
        ("grid", ctypes.c_int),
        ("block", ctypes.c_int),
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


class Emulated:
    """One built translation unit."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self._launch = ctypes.CDLL(str(library)).cutegen_launch

    def __call__(
        self, name: str, out: Array, a: Array | None = None, b: Array | None = None, **sizes: int
    ) -> int:
        """Launch in this process; the ``cudaError_t`` is returned."""
        args = Args(name=name.encode(), **({"grid": 1, "block": 32, "n": 0} | sizes))
        args.a = None if a is None else a.ctypes.data
        args.b = None if b is None else b.ctypes.data
        args.out = out.ctypes.data
        return int(self._launch(ctypes.byref(args)))

    def apart(self, name: str, **sizes: int) -> "Outcome":
        """Launch on zeros in a process of its own: errors of a kernel stay with a process."""
        done = subprocess.run(
            [sys.executable, "-c", _APART, str(self.library), name, repr(sizes)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            start_new_session=True,
        )
        lines = done.stdout.splitlines()
        assert done.returncode == 0, done.stderr
        return Outcome(*map(int, lines[-1].split()), done.stderr, lines[:-1])


class Outcome(NamedTuple):
    """What the launch returned, what synchronising says, and what was printed."""

    code: int
    later: int
    stderr: str
    printed: list[str]


_APART = """
import ctypes, sys
library, name, sizes = sys.argv[1], sys.argv[2], eval(sys.argv[3])
class Args(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)] + [(f, ctypes.c_int) for f in ("m", "n", "k", "grid", "block")] + [
        (f, ctypes.c_void_p) for f in ("a", "b", "out", "stream")]
lib = ctypes.CDLL(library)
memory = [ctypes.create_string_buffer(1 << 16) for _ in "abo"]
aligned = [ctypes.addressof(m) + 256 & ~255 for m in memory]
args = Args(name=name.encode(), **({"grid": 1, "block": 32, "n": 0} | sizes))
args.a, args.b, args.out = aligned
code = lib.cutegen_launch(ctypes.byref(args))
ctypes.CDLL(None).fflush(None)
print(code, lib.cutegen_emulator_synchronize())
"""


@pytest.fixture(scope="session")
def build() -> Callable[[str], Emulated]:
    """Builds ``kernels/NAME.cu``."""
    toolchain = EmulatorToolchain()

    def build(name: str) -> Emulated:
        source = (KERNELS / f"{name}.cu").read_text()
        result = toolchain.build(BuildRequest(source=source, header=HEADER))
        assert result.status is Status.PASSED, f"{result.advice}\n{result.log}"
        assert result.library is not None
        return Emulated(result.library)

    return build


@pytest.fixture(scope="session")
def simt(build: Callable[[str], Emulated]) -> Emulated:
    return build("simt")


@pytest.fixture(scope="session")
def cute_simt(build: Callable[[str], Emulated]) -> Emulated:
    return build("cute_simt")


@pytest.fixture(params=["fifo", "reverse", "random"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every order of threads in turn; a right kernel is right in all of them."""
    monkeypatch.setenv("CUTEGEN_EMU_ORDER", request.param)
    monkeypatch.setenv("CUTEGEN_EMU_SEED", "11")
    return str(request.param)
