"""Real builds: what is cached, what is not, and what every way of failing becomes."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.discovery import ToolNotFoundError, find_nvcc
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.ninja import BuildStep, Ending, run_ninja
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain

KERNEL = """\
#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;
__global__ void copy_all(float const* x, float* y, int n) {
  auto t = make_tensor(make_gmem_ptr(x), make_layout(n));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t(i);
}
"""
LAUNCH = """\
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int n = int(a->x_shape[0]);
  copy_all<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
"""

PLAIN_KERNEL = """\
#include "cutegen_args.h"
template <int N>
__global__ void copy_all(float const* x, float* y, int n) {
  int i = N * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
"""
PLAIN_LAUNCH = LAUNCH.replace("copy_all<<<", "copy_all<256><<<")
"""The same without CuTe's headers, which take nvcc ten seconds."""


def nvcc_is_absent() -> str:
    try:
        find_nvcc()
    except ToolNotFoundError as error:
        return str(error)
    return ""


needs_nvcc = pytest.mark.skipif(bool(nvcc_is_absent()), reason=nvcc_is_absent() or "nvcc is here")


@pytest.fixture(scope="module")
def header() -> str:
    return args_header(KernelSpec.from_callable(lambda x: x * 1.5, [torch.rand(1000)]))


@pytest.fixture
def emulator() -> EmulatorToolchain:
    return EmulatorToolchain()


def build(toolchain: Toolchain, header: str, source: str) -> BuildResult:
    return toolchain.build(BuildRequest(source=source, header=header))


def test_a_good_kernel_becomes_a_library_and_is_built_once(
    emulator: EmulatorToolchain, header: str, tmp_path: Path
) -> None:
    unique = f"{KERNEL}{LAUNCH}// {tmp_path}\n"
    first = build(emulator, header, unique)
    assert first.status is Status.PASSED, first.log
    assert first.library is not None
    assert first.library.is_file()
    assert not first.cached

    second = build(emulator, header, unique)
    assert second.cached
    assert second.library == first.library


def test_a_damaged_cache_entry_is_built_again(
    emulator: EmulatorToolchain, header: str, tmp_path: Path
) -> None:
    unique = f"{PLAIN_KERNEL}{PLAIN_LAUNCH}// damaged {tmp_path}\n"
    first = build(emulator, header, unique)
    assert first.library is not None
    entry = first.library.parent
    left_by_a_killed_process = entry.with_name(f"{entry.name}.left")
    left_by_a_killed_process.mkdir()
    whole = first.library.read_bytes()
    first.library.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
    again = build(emulator, header, unique)
    assert again.status is Status.PASSED
    assert not again.cached
    assert not left_by_a_killed_process.exists()

    (entry / "result.json").write_text('{"result":')
    assert not build(emulator, header, unique).cached
    assert build(emulator, header, unique).cached


def test_a_failure_is_cached_and_names_the_candidates_line(
    emulator: EmulatorToolchain, header: str, tmp_path: Path
) -> None:
    source = KERNEL.replace("y[i] = t(i)", "y[i] = undeclared_name") + LAUNCH + f"// {tmp_path}\n"
    first = build(emulator, header, source)
    assert first.status is Status.COMPILE_ERROR
    assert first.diagnostics[0].line == 7
    assert "undeclared_name" in first.diagnostics[0].message
    assert first.diagnostics[0].source_line == "if (i < n) y[i] = undeclared_name;"
    assert build(emulator, header, source).cached


def test_an_error_inside_cute_is_located_in_the_candidate(
    emulator: EmulatorToolchain, header: str
) -> None:
    source = KERNEL.replace(
        "auto t =", "auto wrong = make_layout(Int<8>{})(make_coord(1, 2, 3)); auto t ="
    )
    result = build(emulator, header, source + LAUNCH)
    assert result.status is Status.COMPILE_ERROR
    assert result.diagnostics[0].line == 5


def test_a_source_without_entry_point_is_told_what_to_define(
    emulator: EmulatorToolchain, header: str
) -> None:
    result = build(emulator, header, PLAIN_KERNEL)
    assert result.status is Status.COMPILE_ERROR
    assert "cutegen_launch" in result.diagnostics[0].message
    assert "CutegenArgs" in result.diagnostics[0].detail


def test_an_undefined_symbol_is_found_when_linking(
    emulator: EmulatorToolchain, header: str
) -> None:
    source = PLAIN_KERNEL + "void nowhere();\n" + PLAIN_LAUNCH.replace("int n", "nowhere(); int n")
    result = build(emulator, header, source)
    assert result.status is Status.COMPILE_ERROR
    assert "nowhere" in result.diagnostics[0].message


def test_what_cannot_be_emulated_is_no_fault_of_the_kernel(
    emulator: EmulatorToolchain, header: str
) -> None:
    source = KERNEL.replace("int i =", 'asm volatile("bar.sync 0;"); int i =') + LAUNCH
    result = build(emulator, header, source)
    assert result.status is Status.ENVIRONMENT
    assert "line 6" in result.advice


def test_a_build_that_takes_too_long_is_ended_with_all_its_processes(
    header: str, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    slow = compiler(tmp_path / "slow", f"sleep 60 & echo $! > '{child}'; wait")
    started = time.monotonic()
    result = build(
        NvccToolchain(nvcc=slow, cache_dir=tmp_path / "cache", timeout_s=1.0), header, KERNEL
    )
    assert result.status is Status.TIMEOUT
    assert time.monotonic() - started < 20
    pid = int(child.read_text())
    wait_until(lambda: not is_running(pid), timeout_s=5)  # a killed process dies in its own time
    assert not list((tmp_path / "cache" / "nvcc").glob("*/"))


def test_a_real_compiler_is_stopped_at_the_limit(header: str) -> None:
    endless = """\
    constexpr int spin() {
      int sum = 0;
      for (int i = 0; i < 9000; ++i)
        for (int j = 0; j < 9000; ++j) sum ^= i * j;
      return sum;
    }
    """
    copies = "".join(f"namespace n{n} {{ {endless} static_assert(spin()); }}\n" for n in range(20))
    result = build(EmulatorToolchain(timeout_s=1.0), header, PLAIN_KERNEL + copies)
    assert result.status is Status.TIMEOUT
    assert "1 s" in result.advice


def test_a_builder_killed_half_way_leaves_nothing_in_the_way(header: str, tmp_path: Path) -> None:
    child = tmp_path / "child"
    once = compiler(
        tmp_path / "once",
        f"[ -e '{child}' ] && g++ -x c++ -c /dev/null -o candidate.o && "
        f"cp candidate.o candidate.so && exit; echo $$ > '{child}'; sleep 60",
    )
    request = BuildRequest(source=KERNEL, header=header)
    script = (
        "import sys; from pathlib import Path; from cutegen.toolchain.nvcc import NvccToolchain; "
        "from cutegen.toolchain.protocol import BuildRequest; "
        "NvccToolchain(nvcc=sys.argv[1], cache_dir=Path(sys.argv[2])).build("
        "BuildRequest.model_validate_json(sys.argv[3]))"
    )
    cache = tmp_path / "cache"
    builder = subprocess.Popen(
        [sys.executable, "-c", script, once, cache, request.model_dump_json()]
    )
    try:
        wait_until(lambda: child.exists() and bool(child.read_text()))
    finally:
        builder.kill()
        builder.wait()
        os.kill(int(child.read_text()), signal.SIGKILL)
    assert list((cache / "nvcc").glob("*/"))  # the half-built directory

    result = NvccToolchain(nvcc=once, cache_dir=cache).build(request)
    assert result.status is Status.PASSED, result.log
    assert result.library is not None
    assert list((cache / "nvcc").glob("*/")) == [result.library.parent]


def test_a_killed_compiler_is_a_resource_fault_and_is_tried_again(
    header: str, tmp_path: Path
) -> None:
    dying = compiler(tmp_path / "dying", "kill -9 $$")
    toolchain = NvccToolchain(nvcc=dying, cache_dir=tmp_path / "cache")
    first = build(toolchain, header, KERNEL)
    assert first.status is Status.RESOURCE, first.log
    assert "memory" in first.advice
    assert not build(toolchain, header, KERNEL).cached


def test_a_compilers_log_is_bounded_and_keeps_both_ends(header: str, tmp_path: Path) -> None:
    chatty = compiler(
        tmp_path / "chatty", "echo the first; yes noise | head -c 3000000; echo the last; exit 1"
    )
    result = build(NvccToolchain(nvcc=chatty, cache_dir=tmp_path / "cache"), header, KERNEL)
    assert result.status is Status.COMPILE_ERROR
    assert len(result.log) < 140_000
    assert "the first" in result.log
    assert "the last" in result.log


def test_a_build_sees_no_flags_but_its_own_and_keeps_its_temporary_files_at_home(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-gencode=arch=compute_80,code=sm_80")
    telling = compiler(
        tmp_path / "telling",
        'echo "flags=<$NVCC_APPEND_FLAGS> words=<$*>"; '
        '[ "$TMPDIR" = "$PWD" ] && echo at home; exit 1',
    )
    log = build(NvccToolchain(nvcc=telling, cache_dir=tmp_path / "cache"), header, KERNEL).log
    assert "flags=<>" in log
    assert "at home" in log
    words = log.split("words=<")[1].split(">")[0].split()
    assert [word for word in words if "gencode" in word or "arch" in word] == [
        "-gencode=arch=compute_90a,code=sm_90a"
    ]


def test_any_folder_and_any_argument_can_be_built_in(tmp_path: Path) -> None:
    folder = tmp_path / "it's a $HOME: 100 %"
    folder.mkdir()
    (folder / "a.cpp").write_text(
        "char const* say() { return TEXT; }\nstatic_assert(sizeof TEXT == 9);"
    )
    argv = ("g++", "-c", "a.cpp", "-DTEXT=\"$a 'b' c\"", "-o", "a.o")
    built = run_ninja(folder, [BuildStep(output="a.o", inputs=("a.cpp",), argv=argv)], 30.0)
    assert built.ending is Ending.DONE, built.output
    assert (folder / "a.o").is_file()


def test_a_cache_that_cannot_be_written_is_an_environment_fault(
    header: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    idle = compiler(tmp_path / "idle", "exit 1")
    result = build(NvccToolchain(nvcc=idle, cache_dir=tmp_path / "file"), header, KERNEL)
    assert result.status is Status.ENVIRONMENT
    assert "CUTEGEN_CACHE" in result.advice


def test_an_absent_compiler_is_an_environment_fault(header: str, tmp_path: Path) -> None:
    result = build(NvccToolchain(nvcc=tmp_path / "none", cache_dir=tmp_path), header, KERNEL)
    assert result.status is Status.ENVIRONMENT
    assert "none" in result.advice

    idle = compiler(tmp_path / "idle", "exit 1")
    for toolchain in (
        NvccToolchain(nvcc=idle, gxx=tmp_path / "no-g++", cache_dir=tmp_path),
        EmulatorToolchain(gxx=tmp_path / "no-g++", cache_dir=tmp_path),
    ):
        result = build(toolchain, header, KERNEL)
        assert result.status is Status.ENVIRONMENT
        assert "no-g++" in result.advice


@pytest.mark.parametrize("arch", ["90a", "sm90a", "sm_9", "compute_90"])
def test_an_architecture_must_be_spelled_exactly(arch: str) -> None:
    with pytest.raises(ValueError, match="sm_90a"):
        NvccToolchain(arch=arch)


@needs_nvcc
def test_nvcc_reports_what_the_kernel_uses(header: str) -> None:
    result = build(NvccToolchain(), header, PLAIN_KERNEL + PLAIN_LAUNCH)
    assert result.status is Status.PASSED, result.log
    (resources,) = result.resources
    assert "copy_all" in resources.kernel
    assert 0 < resources.registers < 64
    assert resources.spill_store_bytes == 0
    assert result.versions["arch"] == "sm_90a"


@needs_nvcc
def test_nvcc_names_what_is_wrong_with_a_source(header: str) -> None:
    toolchain = NvccToolchain()
    wrong = PLAIN_KERNEL.replace("y[i] = x[i]", "y[i] = undeclared_name") + PLAIN_LAUNCH
    first = build(toolchain, header, wrong).diagnostics[0]
    assert (first.line, first.source_line) == (5, "if (i < n) y[i] = undeclared_name;")

    without = build(toolchain, header, PLAIN_KERNEL)
    assert without.status is Status.COMPILE_ERROR
    assert "cutegen_launch" in without.diagnostics[0].message

    greedy = PLAIN_KERNEL.replace(
        "int i =", "__shared__ float s[60000]; s[n] = 1; y[n] = s[0]; int i ="
    )
    result = build(toolchain, header, greedy + PLAIN_LAUNCH)
    assert result.status is Status.COMPILE_ERROR
    assert "shared data" in result.diagnostics[0].message


@needs_nvcc
def test_an_architecture_that_nvcc_does_not_know_is_an_environment_fault(header: str) -> None:
    result = build(NvccToolchain(arch="sm_77"), header, PLAIN_KERNEL + PLAIN_LAUNCH)
    assert result.status is Status.ENVIRONMENT
    assert "compute_77" in result.advice


def compiler(path: Path, script: str) -> Path:
    """A real executable that stands where nvcc is looked for, and knows its version."""
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo V13.0.0 && exit\n{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def is_running(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
