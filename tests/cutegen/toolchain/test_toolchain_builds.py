"""Real builds: what is cached, what is not, and what every way of failing becomes."""

import os
import shutil
import stat
import time
from pathlib import Path

import pytest
import torch

from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.emulated import EmulatorToolchain
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

needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None and not os.environ.get("CUDA_HOME"),
    reason="nvcc is not on PATH (the wheels are tested by test_toolchain_discovery)",
)


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
    unique = f"{KERNEL}{LAUNCH}// damaged {tmp_path}\n"
    first = build(emulator, header, unique)
    assert first.library is not None
    first.library.unlink()
    again = build(emulator, header, unique)
    assert again.status is Status.PASSED
    assert not again.cached


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
    result = build(emulator, header, KERNEL)
    assert result.status is Status.COMPILE_ERROR
    assert "cutegen_launch" in result.diagnostics[0].message
    assert "CutegenArgs" in result.diagnostics[0].detail


def test_an_undefined_symbol_is_found_when_linking(
    emulator: EmulatorToolchain, header: str
) -> None:
    source = KERNEL + 'extern "C" void nowhere();\n' + LAUNCH.replace("int n", "nowhere(); int n")
    result = build(emulator, header, source)
    assert result.status is Status.COMPILE_ERROR
    assert "nowhere" in result.diagnostics[0].message


def test_a_build_that_takes_too_long_is_ended_with_all_its_processes(
    header: str, tmp_path: Path
) -> None:
    slow = program(tmp_path / "slow", 'echo 13.0.0; [ "$1" = --version ] && exit; sleep 60 & wait')
    started = time.monotonic()
    result = build(
        NvccToolchain(nvcc=slow, cache_dir=tmp_path / "cache", timeout_s=1.0), header, KERNEL
    )
    assert result.status is Status.TIMEOUT
    assert time.monotonic() - started < 20
    assert not list((tmp_path / "cache" / "nvcc").glob("*/result.json"))


def test_a_killed_compiler_is_a_resource_fault_and_is_tried_again(
    header: str, tmp_path: Path
) -> None:
    dying = program(
        tmp_path / "dying",
        '[ "$1" = --version ] && exit; echo "g++: fatal error: Killed signal terminated program '
        'cc1plus"; exit 1',
    )
    toolchain = NvccToolchain(nvcc=dying, cache_dir=tmp_path / "cache")
    assert build(toolchain, header, KERNEL).status is Status.RESOURCE
    assert not build(toolchain, header, KERNEL).cached


def test_an_absent_compiler_is_an_environment_fault(header: str, tmp_path: Path) -> None:
    result = build(NvccToolchain(nvcc=tmp_path / "none", cache_dir=tmp_path), header, KERNEL)
    assert result.status is Status.ENVIRONMENT
    assert "none" in result.advice


@pytest.mark.parametrize("arch", ["90a", "sm90a", "sm_9", "compute_90"])
def test_an_architecture_must_be_spelled_exactly(arch: str) -> None:
    with pytest.raises(ValueError, match="sm_90a"):
        NvccToolchain(arch=arch)


@needs_nvcc
def test_nvcc_reports_what_the_kernel_uses(header: str) -> None:
    result = build(NvccToolchain(), header, KERNEL + LAUNCH)
    assert result.status is Status.PASSED, result.log
    (resources,) = result.resources
    assert "copy_all" in resources.kernel
    assert 0 < resources.registers < 64
    assert resources.spill_store_bytes == 0
    assert result.versions["arch"] == "sm_90a"


def program(path: Path, script: str) -> Path:
    """A real executable that stands where nvcc is looked for."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
