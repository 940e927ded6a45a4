"""The generated header against its ctypes mirror, by a real C++ compiler."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cutegen.kernel import args_header, args_structure, candidate_id, fill_args
from cutegen.naming import c_names
from cutegen.spec import KernelSpec

# What the header needs of CUDA and CUTLASS, so that this test needs neither.
_STUBS = {
    "cuda_runtime.h": """\
#pragma once
enum cudaError_t { cudaSuccess = 0 };
typedef struct CUstream_st* cudaStream_t;
""",
    "cutlass/numeric_types.h": """\
#pragma once
namespace cutlass { struct half_t; struct bfloat16_t; }
""",
}


class Everything(nn.Module):
    """Every kind of field: ranks 0 to 3, all dtypes, scalars, state, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 4))
        self.register_buffer("count", torch.tensor(3))

    def forward(  # noqa: PLR0917 - inputs come by position
        self, x: Tensor, flag: bool, mask: Tensor, half: Tensor, n: int, s: float, t: Tensor
    ) -> tuple[Tensor, Tensor]:
        y = self.net(x) * s + n if flag else x
        return y * mask + self.count * t, half.float() * y


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    inputs = [
        torch.rand(3, 5, 4),
        True,
        torch.randint(0, 2, (5, 4)).bool(),
        torch.rand(4).half(),
        7,
        0.5,
        torch.tensor(2.0, dtype=torch.bfloat16),
    ]
    return KernelSpec.from_module(Everything(), inputs, name="everything")


def test_the_header_names_every_field(spec: KernelSpec) -> None:
    header = args_header(spec)
    members = [line.split(";")[0].strip() for line in header.splitlines() if line[:2] == "  "]
    declarations = [line.split(";")[0].split("  //")[0].strip() for line in members]
    assert declarations == [
        *["float const* x", "int64_t x_shape[3]"],
        *["bool const* mask", "int64_t mask_shape[2]"],
        *["cutlass::half_t const* half", "int64_t half_shape[1]"],
        "cutlass::bfloat16_t const* t",
        *["bool flag", "int64_t n", "double s"],
        "int64_t const* count",
        *["float const* net_0_weight", "int64_t net_0_weight_shape[2]"],
        *["float const* net_0_bias", "int64_t net_0_bias_shape[1]"],
        *["float* out0", "int64_t out0_shape[3]", "float* out1", "int64_t out1_shape[3]"],
        *["void* workspace", "size_t workspace_bytes", "cudaStream_t stream"],
    ]
    assert "#include <cutlass/numeric_types.h>" in header


def test_the_compiler_agrees_on_every_offset(spec: KernelSpec, tmp_path: Path) -> None:
    structure = args_structure(spec)
    names = [str(field[0]) for field in structure._fields_]
    checks = "\n".join(
        f'static_assert(offsetof(CutegenArgs, {name}) == {getattr(structure, name).offset}, "");'
        for name in names
    )
    size = f'static_assert(sizeof(CutegenArgs) == {ctypes.sizeof(structure)}, "");'
    _compile(spec, f"{checks}\n{size}\n", tmp_path)


def test_filled_arguments_arrive(spec: KernelSpec, tmp_path: Path) -> None:
    library = _compile(
        spec,
        """
        extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
          bool good = a->x_shape[1] == 5 && a->n == 9 && a->s == 0.5 && a->flag &&
                      a->x == reinterpret_cast<float*>(0x1000) && a->workspace_bytes == 64 &&
                      a->stream == reinterpret_cast<cudaStream_t>(0x77);
          return static_cast<cudaError_t>(good ? 0 : 1);
        }
        """,
        tmp_path,
    )
    pointers = dict.fromkeys((tensor.name for tensor in spec.timed.tensors), 0x1000)
    args = fill_args(spec, spec.timed, pointers, scalars={"n": 9}, workspace_bytes=64, stream=0x77)
    assert ctypes.CDLL(str(library)).cutegen_launch(ctypes.byref(args)) == 0
    with pytest.raises(KeyError, match="mask"):
        fill_args(spec, spec.timed, {"x": 0})


def test_a_float_spec_needs_no_cutlass() -> None:
    spec = KernelSpec.from_callable(torch.relu, [torch.rand(64, 64)])
    assert "cutlass" not in args_header(spec)


def test_names_are_valid_and_different() -> None:
    names = ["class", "x", "x.shape", "x_shape", "0.weight", "out1", "größe", "a-b", "a.b", ""]
    fields = c_names(names)
    assert fields == [
        *["class_", "x", "x_shape_", "x_shape__", "_0_weight", "out1_"],
        *["gruf6udfe", "a_b", "a_b_", "_"],
    ]


def test_candidate_ids_follow_source_and_spec() -> None:
    ids = {candidate_id(source, spec) for source in ("a", "b") for spec in ("s", "t")}
    assert len(ids) == 4
    assert candidate_id("a", "s") == candidate_id("a", "s")


def _compile(spec: KernelSpec, source: str, folder: Path) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    for name, text in _STUBS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "cutegen_args.h").write_text(args_header(spec), encoding="utf-8")
    (folder / "check.cpp").write_text(f'#include "cutegen_args.h"\n{source}', encoding="utf-8")
    done = subprocess.run(
        [compiler, "-std=c++17", "-shared", "-fPIC", "-o", "check.so", "-I.", "check.cpp"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return folder / "check.so"
