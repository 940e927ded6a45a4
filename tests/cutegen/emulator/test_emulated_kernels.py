"""Kernels built by g++ and run as fibers: against NumPy, and against what a GPU would refuse."""

import ctypes
import re
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
from cutegen.toolchain.places import name_places
from cutegen.toolchain.protocol import BuildRequest

RNG = np.random.default_rng(3)
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

    def apart(self, name: str, *, room: int = 1 << 16, **sizes: int) -> "Outcome":
        """Launch on zeros in a process of its own: errors of a kernel stay with a process.

        ``room`` is the number of bytes of each tensor.
        """
        done = subprocess.run(
            [sys.executable, "-c", _APART, str(self.library), name, repr(sizes), str(room)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            start_new_session=True,
        )
        lines = done.stdout.split("\n")[:-1]
        assert done.returncode == 0, done.stderr
        report = name_places(lines[-1], self.library)
        records = [record.split("\x1f") for record in report.split("\x1e") if record]
        return Outcome(*map(int, lines[-2].split()), done.stderr, lines[:-2], records)


class Outcome(NamedTuple):
    """What the launch returned, what synchronising says, and what was printed."""

    code: int
    later: int
    stderr: str
    printed: list[str]
    reports: list[list[str]]


def line_of_candidate(unit: Emulated, line: int) -> str:
    return (unit.library.parent / "candidate.cpp").read_text().splitlines()[line - 1]


_APART = """
import ctypes, sys
library, name, sizes, room = sys.argv[1], sys.argv[2], eval(sys.argv[3]), int(sys.argv[4])
class Args(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        *((f, ctypes.c_int) for f in ("m", "n", "k", "grid", "block")),
        *((f, ctypes.c_void_p) for f in ("a", "b", "out", "stream")),
    ]
lib = ctypes.CDLL(library)
memory = ctypes.create_string_buffer(8 * room)
args = Args(name=name.encode(), **({"grid": 1, "block": 32, "n": 0} | sizes))
word = ctypes.c_size_t
lib.cutegen_emulator_device_memory(memory, word(8 * room))
for i, tensor in enumerate(("a", "b", "out"), 1):
    address = ctypes.addressof(memory) + 2 * i * room & ~255
    setattr(args, tensor, address)
    lib.cutegen_emulator_tensor(tensor.encode(), word(address), word(room), word(4), True)
code = lib.cutegen_launch(ctypes.byref(args))
ctypes.CDLL(None).fflush(None)
print(code, lib.cutegen_emulator_synchronize())
lib.cutegen_emulator_report.restype = ctypes.c_char_p
print(lib.cutegen_emulator_report().decode())
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


@pytest.fixture(scope="session")
def watched(build: Callable[[str], Emulated]) -> Emulated:
    return build("watched")


@pytest.fixture(params=["fifo", "reverse", "random", "watched"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every order of threads in turn; a right kernel is right in all of them, and watched."""
    watched = request.param == "watched"
    monkeypatch.setenv("CUTEGEN_EMU_ORDER", "random" if watched else request.param)
    monkeypatch.setenv("CUTEGEN_EMU_WATCH", str(int(watched)))
    monkeypatch.setenv("CUTEGEN_EMU_SEED", "11")
    return str(request.param)


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def unwritten(*shape: int) -> Array:
    return np.full(shape, np.nan, np.float32)


@pytest.mark.usefixtures("order")
class TestSimt:
    @pytest.mark.parametrize("n", [4096, 4099, 3])
    def test_vector_accesses_and_constant_memory(self, simt: Emulated, n: int) -> None:
        a, out = normal(n), unwritten(n)
        assert simt("vector_scale", out, a, n=n) == 0
        factors = np.array([2, 2, 3, 3], np.float32)[np.arange(n) % 4]
        np.testing.assert_array_equal(out, a * factors)

    def test_block_reduction_with_shuffles(self, simt: Emulated) -> None:
        a, out = normal(5, 1000), unwritten(5)
        assert simt("row_sums", out, a, n=1000, grid=5, block=256) == 0
        np.testing.assert_allclose(out, a.sum(1), rtol=1e-4, atol=1e-4)

    def test_transpose_through_dynamic_shared_memory(self, simt: Emulated) -> None:
        a, out = normal(70, 45), unwritten(45, 70)
        assert simt("transpose", out, a, m=70, n=45) == 0
        np.testing.assert_array_equal(out, a.T)

    def test_histogram_with_atomics(self, simt: Emulated) -> None:
        a, out = RNG.random(10000, np.float32), np.zeros(17, np.float32)
        assert simt("histogram", out, a, n=10000, grid=7, block=96) == 0
        np.testing.assert_array_equal(out[:16], np.histogram(a, 16, (0, 1))[0])
        assert out[16] == 10000

    def test_votes_and_shuffles(self, simt: Emulated) -> None:
        a, out = normal(32), unwritten(136)
        assert simt("votes", out, a) == 0
        lanes = np.arange(32)
        assert out[:8].tolist() == [(a > 0).sum(), 0, 1, 7, 0, 1, -9, 4]
        np.testing.assert_array_equal(out[8:40], np.where(lanes % 8 < 2, lanes, lanes - 2))
        np.testing.assert_array_equal(out[40:72], np.where(lanes % 16 > 12, lanes, lanes + 3))
        assert (out[72:104] == 3).all()
        np.testing.assert_array_equal(out[104:], np.where(lanes % 2, 16, lanes ^ 2))

    def test_softmax(self, simt: Emulated) -> None:
        a, out = normal(6, 333), unwritten(6, 333)
        assert simt("softmax", out, a, n=333, grid=6) == 0
        exact = np.exp(a - a.max(1, keepdims=True).astype(np.float64))
        np.testing.assert_allclose(out, exact / exact.sum(1, keepdims=True), rtol=1e-5)

    def test_threads_may_wait_for_each_other_on_an_atomic(self, simt: Emulated) -> None:
        a, out = normal(64), unwritten(64)
        assert simt("handshake", out, a, block=64) == 0
        np.testing.assert_array_equal(out, a)


@pytest.mark.usefixtures("order")
def test_every_form_of_kernel_launch_and_shared_variable(build: Callable[[str], Emulated]) -> None:
    out = np.zeros(1, np.float32)
    assert build("forms")("all", out) == 0
    assert out[0] == 1 + 10 + 100 + 70 + 1000 + 10000 + 20000 + 100000


def test_intrinsics_and_printf(simt: Emulated) -> None:
    x = np.float32(0.75)
    a, out = np.array([x]), unwritten(24)
    assert simt("intrinsics", out, a) == 0
    # fmt: off
    exact = [
        x**-0.5, 1 / x, x, 0.7111556337, np.tanh(x), np.log1p(x), x * x + 1,
        11, 4, 1, 0x77441100, 3, 2, 2, x, 2, 0, x, 2.5, 1, 40, 0, 1, 0.7733726476,
    ]
    # fmt: on
    np.testing.assert_allclose(out, exact, rtol=3e-7)
    assert simt.apart("intrinsics").printed == ["kernel says 42 hello"]


@pytest.mark.usefixtures("order")
class TestCute:
    @pytest.mark.parametrize("n", [8192, 5001])
    def test_tiled_copies_with_a_predicated_tail(self, cute_simt: Emulated, n: int) -> None:
        a, out = normal(n), unwritten(n)
        assert cute_simt("swish", out, a, n=n) == 0
        np.testing.assert_allclose(out, a / (1 + np.exp(-a.astype(np.float64))), rtol=1e-6)

    def test_gemm_on_swizzled_shared_memory(self, cute_simt: Emulated) -> None:
        a, b, out = normal(128, 48), normal(48, 192), unwritten(128, 192)
        assert cute_simt("gemm", out, a, b, m=128, n=192, k=48) == 0
        out[0, 0] -= 1000  # which one thread of the grid adds
        np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)

    def test_conversion_to_half(self, cute_simt: Emulated) -> None:
        a, out = np.linspace(-1e5, 1e5, 999, dtype=np.float32), np.zeros(999, np.float16)
        assert cute_simt("to_half", out, a, n=999) == 0
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(out, a.astype(np.float16))


IN_A_MACRO = "kernel"  # the text between the tokens of `LAUNCH`: macros are not expanded
INVALID_VALUE, INVALID_CONFIGURATION, INVALID_IMAGE = 1, 9, 200
ILLEGAL_ADDRESS, OUT_OF_RESOURCES, MISALIGNED, LAUNCH_FAILURE = 700, 701, 716, 719


def test_a_missing_barrier_shows_when_threads_run_in_another_order(
    simt: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.arange(256, dtype=np.float32)
    right = np.maximum(a - 1, 0)

    def run(order: str, seed: int) -> Array:
        monkeypatch.setenv("CUTEGEN_EMU_ORDER", order)
        monkeypatch.setenv("CUTEGEN_EMU_SEED", str(seed))
        out = np.zeros(256, np.float32)
        assert simt("unsynchronized", out, a, block=256) == 0
        return out

    np.testing.assert_array_equal(run("fifo", 0), right)  # luck
    for wrong in (run("reverse", 0), run("random", 1), run("random", 2)):
        assert np.isnan(wrong).any()
        np.testing.assert_array_equal(wrong[~np.isnan(wrong)], right[~np.isnan(wrong)])
    np.testing.assert_array_equal(run("random", 1), run("random", 1))
    assert not np.array_equal(run("random", 1), run("random", 2), equal_nan=True)


def test_lanes_that_wait_for_each_other_say_who_waits_where(simt: Emulated) -> None:
    outcome = simt.apart("deadlock", block=32)
    assert (outcome.code, outcome.later) == (LAUNCH_FAILURE, LAUNCH_FAILURE)
    [(weight, status, kernel, summary, *waits)] = outcome.reports
    assert (weight, status, kernel) == ("fault", "DIVERGENCE", IN_A_MACRO)
    assert "32 threads wait, 0 have ended" in summary
    source = [re.fullmatch(r"16 wait at line (\d+) in (\w+), first (.*)", w) for w in waits]
    assert [m and m.groups()[1:] for m in source] == [
        ("__syncthreads", "thread (0,0,0) of block (0,0,0)"),
        ("__shfl_sync", "thread (16,0,0) of block (0,0,0)"),
    ]
    assert all(m and m[2] in line_of_candidate(simt, int(m[1])) for m in source)


class Expected(NamedTuple):
    """An error code, a status, words of the summary, and of the line that it names."""

    code: int
    status: str
    said: str
    at: str = ""


@pytest.mark.parametrize(
    ("name", "sizes", "expected"),
    [
        ("overrun", {}, Expected(ILLEGAL_ADDRESS, "OUT_OF_BOUNDS", "memory array of 120 bytes")),
        (
            "misaligned",
            {},
            Expected(MISALIGNED, "MISALIGNED", "a multiple of 4 bytes only, not of 16", "out + 1"),
        ),
        ("too_much_static", {"n": 8}, Expected(INVALID_IMAGE, "SMEM_LIMIT", "exceed the 227 KiB")),
        ("too_wide", {}, Expected(OUT_OF_RESOURCES, "LAUNCH_ERROR", "__launch_bounds__")),
        (
            "two_barriers",
            {"block": 64},
            Expected(LAUNCH_FAILURE, "DIVERGENCE", "others at line", "__syncthreads"),
        ),
        (
            "own_lane",
            {},
            Expected(LAUNCH_FAILURE, "DIVERGENCE", "lacks its own lane", "__shfl_sync"),
        ),
        ("livelock", {}, Expected(LAUNCH_FAILURE, "DEADLOCK", "32 threads wait, 0 have ended")),
    ],
)
def test_faults_of_a_kernel(
    simt: Emulated, name: str, sizes: dict[str, int], expected: Expected
) -> None:
    outcome = simt.apart(name, **({"block": 32} | sizes))
    assert (outcome.code, outcome.later) == (expected.code, expected.code)
    [(weight, status, kernel, summary, *more)] = outcome.reports
    assert (weight, status) == ("fault", expected.status)
    named = {"too_wide": "vector_scale<float,4>", "too_much_static": "too_much_static"}
    assert kernel == named.get(name, IN_A_MACRO)
    assert expected.said in summary
    if expected.at:
        line = re.match(r"line (\d+): ", summary)
        assert line is not None
        assert expected.at in line_of_candidate(simt, int(line[1]))
    if status == "DEADLOCK":
        assert re.match(r"32 wait at line \d+ in a loop with __nanosleep, first thread", more[0])


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("absent_lane", {"block": 16}, "reads lane 16, which does not take part"),
        ("early_return", {"block": 64, "n": 40}, "threads had ended when others waited at line"),
    ],
)
def test_what_may_be_harmless_is_noted(
    simt: Emulated, name: str, sizes: dict[str, int], said: str
) -> None:
    outcome = simt.apart(name, **sizes)
    assert (outcome.code, outcome.later) == (0, 0)
    assert outcome.reports
    for weight, status, kernel, summary in outcome.reports:
        assert (weight, status, kernel) == ("note", "DIVERGENCE", IN_A_MACRO)
        assert said in summary or "reads lane" in summary


def test_blocks_that_wait_for_each_other_all_run(
    simt: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTEGEN_EMU_THREADS", "1")
    outcome = simt.apart("grid_barrier", grid=5, block=32)
    assert (outcome.code, outcome.reports) == (0, [])
    outcome = simt.apart("grid_barrier", grid=200, block=32)
    assert [report[1] for report in outcome.reports] == ["ENVIRONMENT"]


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"block": 1024, "n": 48 << 10}, 0),
        ({"block": 1025}, INVALID_CONFIGURATION),
        ({"block": 0}, INVALID_CONFIGURATION),
        ({"grid": 0}, INVALID_CONFIGURATION),
        ({"n": (48 << 10) + 1}, INVALID_VALUE),
        ({"n": (227 << 10) + 1}, INVALID_VALUE),
    ],
)
def test_launches_that_a_driver_refuses(simt: Emulated, sizes: dict[str, int], code: int) -> None:
    outcome = simt.apart("idle", **sizes)
    assert (outcome.code, outcome.later) == (code, 0)
    assert bool(outcome.stderr) == bool(code)


@pytest.mark.parametrize(("nbytes", "code"), [(227 << 10, 0), ((227 << 10) + 1, INVALID_VALUE)])
def test_more_than_48_kib_needs_the_attribute(simt: Emulated, nbytes: int, code: int) -> None:
    assert simt.apart("idle_with_permission", n=nbytes).code == code


class TestWatched:
    """Every access is watched: what a GPU runs without a word is a fault with its line."""

    @pytest.fixture(autouse=True)
    def _watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_WATCH", "1")

    @pytest.mark.parametrize(
        ("name", "sizes", "said"),
        [
            ("reads_past", {"n": 16384, "grid": 513}, "0 bytes past the end of a (65536 bytes)"),
            ("selects_after_the_read", {}, "0 bytes past the end of a"),
            ("writes_before", {}, "writes 4 bytes, 4 bytes before the start of out"),
            ("far_away", {}, "11072 bytes before the start of b"),
            ("through_null", {}, "through a null pointer"),
            ("copies_too_much", {}, "across the end of a"),
            ("reads_past_shared", {}, "past the end of a shared array of 128 bytes"),
            ("far_past_shared", {}, "past the end of the dynamic shared memory of 128 bytes"),
        ],
    )
    def test_out_of_bounds(
        self, watched: Emulated, name: str, sizes: dict[str, int], said: str
    ) -> None:
        [(weight, status, _, summary)] = watched.apart(name, **sizes).reports
        assert (weight, status) == ("fault", "OUT_OF_BOUNDS")
        assert said in summary
        assert re.search(r"\(thread \(\d+,0,0\) of block \(\d+,0,0\)\)", summary)
        assert lines_of(watched, summary) == ["here"]

    @pytest.mark.parametrize(
        ("name", "sizes"),
        [
            ("no_barrier", {"block": 64}),
            ("no_second_barrier", {"block": 64}),
            ("no_syncwarp", {}),
            ("blocks_write_one_place", {"grid": 2}),
            ("reads_what_another_block_writes", {"grid": 2}),
            ("sums_without_atomics", {}),
        ],
    )
    def test_races(self, watched: Emulated, name: str, sizes: dict[str, int]) -> None:
        *_, (weight, status, _, summary) = watched.apart(name, **sizes).reports
        assert (weight, status) == ("fault", "RACE")
        assert sorted(set(" ".join(lines_of(watched, summary)).split())) == ["here", "there"]
        assert watched.apart(name, **sizes).reports[-1][3] == summary

    def test_a_read_of_unwritten_shared_memory_is_noted(self, watched: Emulated) -> None:
        outcome = watched.apart("unwritten")
        assert outcome.code == 0
        [(weight, status, _, summary)] = outcome.reports
        assert (weight, status) == ("note", "UNINITIALIZED")
        assert lines_of(watched, summary) == ["here"]

    @pytest.mark.parametrize(
        "name",
        ["all_write_the_same", "in_step", "shuffles_order", "last_block_sums", "waits_on_volatile"],
    )
    def test_what_is_right_is_not_suspected(self, watched: Emulated, name: str) -> None:
        block = 32 if name == "in_step" else 64
        outcome = watched.apart(name, block=block, grid=3)
        assert (outcome.code, outcome.reports) == (0, [])


def lines_of(unit: Emulated, summary: str) -> list[str]:
    """The comments of the lines that a text names."""
    lines = (line_of_candidate(unit, int(n)) for n in re.findall(r"line (\d+)", summary))
    return [line.partition("// ")[2] for line in lines]
