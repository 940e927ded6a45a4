"""Source to verdict of the same Swish kernel: `cutegen evaluate` beside KernelBench's evaluation.

    python tests/gpu/run_side_by_side.py --out DIR --peer FOLDER [--budget-s 400]

FOLDER is a checkout of KernelBench (github.com/ScalingIntelligence/KernelBench); nothing of it is
kept here. Each side is one command that starts with nothing built and ends with a verdict and a
time: ours gets the launch contract's .cu, the peer the same device code through `load_inline`.
Both evaluate at KernelBench's own shapes, in turn, alone on the GPU. DIR/side_by_side.json is
written after each of them; started again, the script does what is missing.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from figures import side_by_side_table

from cutegen.measurement.baselines import Baseline
from cutegen.measurement.environment import record
from cutegen.toolchain.discovery import find_cutlass

HERE = Path(__file__).resolve().parent
SWISH = HERE / "kernels/swish.cu"
BEGIN, END = "// device: begin", "// device: end"
TARGET = 6.0
LEAST_S = 90.0  # a side is not begun when less is left
REFERENCE = "KernelBench/level1/25_Swish.py"

# The same work without CuTe: whatever the peer's build loses to CuTe's headers is left out of it.
PLAIN = """
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) swish(float const* x, float* out, int64_t n) {
  int64_t const vectors = n / 4;
  int64_t const v = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < vectors) {
    float4 f = reinterpret_cast<float4 const*>(x)[v];
    f.x /= 1.f + expf(-f.x);
    f.y /= 1.f + expf(-f.y);
    f.z /= 1.f + expf(-f.z);
    f.w /= 1.f + expf(-f.w);
    reinterpret_cast<float4*>(out)[v] = f;
  }
  int64_t const rest = vectors * 4 + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) out[rest] = x[rest] / (1.f + expf(-x[rest]));
}

static cudaError_t launch_swish(float const* x, float* out, int64_t n, cudaStream_t stream) {
  int64_t const tile = int64_t(kThreads) * 4;
  swish<<<unsigned((n + tile - 1) / tile), kThreads, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}
"""
OURS = """// {salt}
#include "cutegen_args.h"
{headers}
{device}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {{
  return launch_swish(a->x, a->out, a->x_shape[0] * a->x_shape[1], a->stream);
}}
"""
PEER = '''# {salt}
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

device = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
{headers}
{device}
torch::Tensor swish_forward(torch::Tensor x) {{
  auto out = torch::empty_like(x);
  auto stream = c10::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(launch_swish(x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), stream));
  return out;
}}
"""
module = load_inline(
    name="swish_{salt}",
    cpp_sources="torch::Tensor swish_forward(torch::Tensor x);",
    cuda_sources=device,
    functions=["swish_forward"],
    extra_include_paths={include!r},
    extra_cuda_cflags=["-O3", "--expt-relaxed-constexpr"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.swish_forward(x)
'''


def kernels() -> dict[str, tuple[str, str]]:
    """Headers and device code by name."""
    _, rest = SWISH.read_text(encoding="utf-8").split(BEGIN)
    return {
        "CuTe kernel": ("#include <cute/tensor.hpp>", rest.split(END)[0]),
        "plain CUDA kernel": ("#include <cstdint>", PLAIN),
    }


def timed(command: list[str], folder: Path, seconds: float) -> dict[str, Any]:
    """Wall clock of one command, and the last line of its standard output as JSON."""
    began = time.monotonic()
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as log:
        process = subprocess.Popen(command, stdout=out, stderr=log, start_new_session=True)
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {"error": f"cut off after {seconds:.0f} s"}
        took = time.monotonic() - began
    lines = (folder / "stdout").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    try:
        answer: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        tail = (folder / "stderr").read_text(encoding="utf-8", errors="replace")[-3000:]
        return {"error": f"status {status}: {tail}\n" + "\n".join(lines[-20:])}
    return {**answer, "seconds": took}


def ours(headers: str, device: str, reference: Path, seconds: float) -> dict[str, Any]:
    """`cutegen evaluate` of a source that was never built before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = OURS.format(salt=uuid4().hex, headers=headers, device=device)
        (folder / "swish.cu").write_text(source, encoding="utf-8")
        answer = timed(
            [
                *(sys.executable, "-P", "-m", "cutegen", "evaluate", str(folder / "swish.cu")),
                *("--spec", str(reference), "--executor", "cuda", "--json"),
            ],
            folder,
            seconds,
        )
    if "error" in answer:
        return answer
    kept = ("seconds", "status", "stages")
    measurement = answer["measurement"] or {}
    return {
        **{name: answer[name] for name in kept},
        "evidence": answer["evidence"]["summary"],
        "measurement": {name: measurement.get(name) for name in ("state", "reason", "candidate")},
        "source": source,
    }


def peer(
    headers: str, device: str, repository: Path, reference: Path, seconds: float
) -> dict[str, Any]:
    """KernelBench's evaluation of the same device code, in a build folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        include = [str(path) for path in find_cutlass().include_dirs]
        source = PEER.format(salt=uuid4().hex, headers=headers, device=device, include=include)
        (folder / "swish.py").write_text(source, encoding="utf-8")
        answer = timed(
            [
                *(sys.executable, str(HERE / "side_by_side_peer.py"), str(repository)),
                *(str(reference), str(folder / "swish.py"), str(folder / "build")),
            ],
            folder,
            seconds,
        )
    return {**answer, "source": source}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of side_by_side.json")
    parser.add_argument("--peer", type=Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--budget-s", type=float, default=400.0, help="seconds for everything")
    options = parser.parse_args()
    repository: Path = options.peer.resolve()
    reference = repository / REFERENCE
    path: Path = options.out.resolve() / "side_by_side.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.budget_s
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        found = {"part": "side_by_side", "kernels": {}}
    with Baseline() as baseline:  # the device's ceilings are known before, as after any first use
        baseline.ceilings()
        found["environment"] = record(baseline.facts)
    revision = repository / "REVISION"
    found["peer"] = revision.read_text(encoding="utf-8").strip() if revision.exists() else ""
    for name, (headers, device) in kernels().items():
        if end - time.monotonic() < LEAST_S:
            break
        case = found["kernels"].setdefault(name, {})
        for side in ("ours", "peer"):
            if "seconds" in case.get(side, {}):
                continue
            left = end - time.monotonic()
            case[side] = (
                ours(headers, device, reference, left)
                if side == "ours"
                else peer(headers, device, repository, reference, left)
            )
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(side_by_side_table(found) + "\n")
    ratios = [
        case["peer"]["seconds"] / case["ours"]["seconds"]
        for case in found["kernels"].values()
        if "seconds" in case["ours"] and "seconds" in case["peer"]
    ]
    return 0 if len(ratios) == len(kernels()) and min(ratios) >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
