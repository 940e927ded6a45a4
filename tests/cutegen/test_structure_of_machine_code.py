"""Machine code completes what a library hides, and contradicts without changing anything."""

import shutil
from pathlib import Path

import pytest

from cutegen.structure import HIDDEN, fingerprint
from cutegen.structure.machine import completed, contradictions
from cutegen.toolchain.disassembly import KernelCode
from cutegen.toolchain.discovery import ToolNotFoundError, find_cuobjdump, find_nvcc
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest

COLLECTIVE = """
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, half_t, LayoutA, 8, half_t, LayoutB, 8,
    float, Shape<_128, _128, _64>, Shape<_2, _1, _1>, StageCountAuto,
    KernelTmaWarpSpecializedCooperative>::CollectiveOp;
"""
HOPPER = KernelCode(
    kernel="device_kernel",
    opcodes={
        "HGMMA.64x128x16.F32": 8,
        "UTMALDG.2D.MULTICAST": 2,
        "UTMALDG.2D": 1,
        "UTMASTG.2D": 1,
        "USETMAXREG.DEALLOC.CTAPOOL": 1,
        "UCGABAR_ARV": 1,
        "STSM.16.M88.4": 4,
    },
)
CHAINED = """
#include "cutegen_args.h"
__global__ void twice(float4 const* x, float* out) {
  float4 const v = x[threadIdx.x];
  out[threadIdx.x] = v.x;  // the compiler loads what is used
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const*) {
  twice<<<1, 32>>>(nullptr, nullptr);
  return cudaGetLastError();
}
"""


def test_a_library_says_by_its_schedule_what_it_says_and_hides_the_rest() -> None:
    found = fingerprint(COLLECTIVE).features
    assert found["roles"] == "producer-consumer+setmaxnreg"
    assert found["copies"] == "tma"
    assert found["staging"] == "multi-stage"
    assert found["grid"] == "persistent"
    assert found["mma"] == found["swizzle"] == found["cluster"] == HIDDEN


def test_machine_code_completes_what_is_hidden_and_nothing_else() -> None:
    found = fingerprint(COLLECTIVE).features
    whole = completed(found, (HOPPER,))
    assert (whole["mma"], whole["cluster"], whole["smem"]) == ("wgmma", "yes", "dynamic")
    assert whole["swizzle"] == HIDDEN
    assert {n: v for n, v in whole.items() if found[n] != HIDDEN} == {
        n: v for n, v in found.items() if v != HIDDEN
    }
    plain = fingerprint("__global__ void k() {}").features
    assert completed(plain, (HOPPER,)) == plain
    assert completed(found, ()) == found


def test_with_and_without_machine_code_a_kernel_is_the_same() -> None:
    hidden = fingerprint(COLLECTIVE)
    shown = hidden.model_copy(update={"features": completed(hidden.features, (HOPPER,))})
    assert hidden.features != shown.features
    assert hidden.same_structure(shown)
    other = shown.model_copy(update={"features": shown.features | {"mma": "mma.sync"}})
    assert not shown.same_structure(other)


def test_a_source_is_contradicted_in_sentences() -> None:
    found = fingerprint("using A = SM80_16x8x16_F32F16F16F32_TN; using C = SM90_TMA_LOAD;").features
    code = KernelCode(kernel="k", opcodes={"LDG.E": 4, "UTMALDG.2D": 1})
    assert contradictions(found, (code,)) == (
        "the source multiplies by mma.sync, but no such instruction was compiled",
    )
    assert contradictions(found, ()) == ()


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_build_is_read_and_changes_no_feature(tmp_path: Path) -> None:
    try:
        find_nvcc()
        find_cuobjdump()
    except ToolNotFoundError as error:
        pytest.skip(str(error))
    header = (
        "#pragma once\n#include <cuda_runtime.h>\nstruct CutegenArgs { cudaStream_t stream; };\n"
    )
    build = NvccToolchain(cache_dir=tmp_path, police=False).build(
        BuildRequest(source=CHAINED, header=header)
    )
    assert build.library is not None, build.log
    read = fingerprint(CHAINED, build)
    assert read.features == fingerprint(CHAINED).features
    assert read.contradicted == (
        "the source asks for accesses of 128 bits, but the widest compiled has 32",
    )
