"""What the emulator costs on this machine: compiling and running, beside nvcc's compile times.

    python tests/benchmarks/emulator_speed.py [--out tests/benchmarks/results] [--no-nvcc]

``emulator_speed.json`` in the folder holds the raw seconds of every repetition. Builds are made
in a fresh cache, one at a time; run it on a machine that does nothing else.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cutegen.execution.emulated import EmulatedExecutor
from cutegen.execution.memory import HostArena
from cutegen.execution.protocol import EvaluationJob
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.discovery import ToolNotFoundError, find_gxx, find_nvcc
from cutegen.toolchain.emulated import EmulatorToolchain
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution

HERE = Path(__file__).resolve().parent
COOKBOOK = HERE.parents[1] / "prompts" / "cookbook"
TARGETS = {
    "compile a small kernel, after the first (s)": 5.0,
    "512x512x512 half-precision product on tensor cores (s)": 5.0,
    "elementwise kernel (million elements/s)": 20.0,
}
REPETITIONS = 3
_PRODUCTS = (((67, 72), (71, 72)), ((1, 8), (3, 8)), ((64, 128), (64, 128)))  # rows of 16 bytes
_SMALL = """\
#include "cutegen_args.h"
__global__ void twice(float const* x, float* out, int64_t n) {
  int64_t const i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = 2 * x[i];
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t const n = a->x_shape[0] * a->x_shape[1];
  twice<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
"""


def twice(x: Tensor) -> Tensor:
    """The function of the small kernel."""
    return 2 * x


def swish(x: Tensor) -> Tensor:
    """The elementwise function."""
    return x * torch.sigmoid(x)


def linear(a: Tensor, w: Tensor) -> Tensor:
    """The product."""
    return functional.linear(a, w)


def _specs() -> dict[str, tuple[KernelSpec, str]]:
    def spec(function: Callable[..., Tensor], *shapes: tuple[int, int], half: bool) -> KernelSpec:
        dtype = torch.float16 if half else torch.float32
        return KernelSpec.from_callable(
            function,
            [torch.randn(shape, dtype=dtype) for shape in shapes],
            name=function.__name__,
            math_mode="fp16" if half else "fp32",
            check_shapes=_PRODUCTS if half else None,
        )

    def recipe(name: str) -> str:
        return (COOKBOOK / f"{name}.cu").read_text(encoding="utf-8")

    return {
        "small": (spec(twice, (512, 512), half=False), _SMALL),
        "elementwise": (spec(swish, (2048, 2048), half=False), recipe("grid_stride_vectors")),
        "product": (spec(linear, (512, 512), (512, 512), half=True), recipe("ldmatrix_mma")),
    }


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compile_times(make: Callable[[Path], Toolchain], spec: KernelSpec, source: str) -> list[float]:
    """Seconds of the first build in a fresh cache, then of builds after it."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        toolchain = make(Path(cache))
        for turn in range(REPETITIONS + 1):
            request = BuildRequest(source=f"{source}// {turn}\n", header=args_header(spec))
            began = time.perf_counter()
            result = toolchain.build(request)
            found.append(time.perf_counter() - began)
            if result.library is None:
                raise SystemExit(f"{toolchain.name} built nothing: {result.advice}\n{result.log}")
    return found


def launch_times(spec: KernelSpec, source: str) -> list[float]:
    """Seconds of one launch at the timed shapes, through the executor's own session."""
    built = EmulatedExecutor().build(spec, source)
    assert built.library is not None, built.log
    inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
    arena = HostArena(arena_bytes([spec.timed]))
    with WorkerSession(spec, built.library, arena, timeout_s=300) as session:

        def launch() -> None:
            run = session.run(spec.timed, inputs, "fifo")
            assert run.failure is None, run.failure

        launch()  # the first one makes stacks
        return [seconds(launch) for _ in range(REPETITIONS)]


def verdict_time(spec: KernelSpec, source: str) -> dict[str, Any]:
    """Seconds of a whole verdict on a built candidate: check shapes watched, the ladder climbed."""
    executor = EmulatedExecutor()
    executor.build(spec, source)
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=source))
    return {"status": verdict.status.value, "seconds": verdict.seconds}


def commit() -> str:
    """The commit that is measured."""
    known = os.environ.get("CUTEGEN_COMMIT")
    if known:
        return known
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def measure(*, with_nvcc: bool) -> dict[str, Any]:
    """All figures, raw."""
    specs = _specs()
    compiles: dict[str, Any] = {}
    for name, (spec, source) in specs.items():
        compiles[name] = {
            "g++": compile_times(lambda cache: EmulatorToolchain(cache_dir=cache), spec, source)
        }
        if with_nvcc:
            compiles[name]["nvcc"] = compile_times(
                lambda cache: NvccToolchain(cache_dir=cache), spec, source
            )
    return {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "processor": platform.machine(),
            "g++": find_gxx().version,
            "nvcc": find_nvcc().version if with_nvcc else "",
            "load_before": os.getloadavg()[0],
        },
        "commit": commit(),
        "compile_s": compiles,  # the first of each list is in a fresh cache
        "launch_s": {
            name: launch_times(*specs[name]) for name in ("small", "elementwise", "product")
        },
        "verdict": {name: verdict_time(*pair) for name, pair in specs.items()},
        "elements": specs["elementwise"][0].timed.of("output")[0].numel,
    }


def figures(results: dict[str, Any]) -> dict[str, float]:
    """The figures that have a target."""
    launch = results["launch_s"]
    small = results["compile_s"]["small"]["g++"][1:]
    return dict(
        zip(
            TARGETS,
            (
                statistics.median(small),
                statistics.median(launch["product"]),
                results["elements"] / statistics.median(launch["elementwise"]) / 1e6,
            ),
            strict=True,
        )
    )


def main() -> int:
    """Measure, write, and print the figures beside their targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the JSON")
    parser.add_argument("--no-nvcc", action="store_true", help="compile for the CPU only")
    options = parser.parse_args()
    try:
        find_nvcc()
        with_nvcc = not options.no_nvcc
    except ToolNotFoundError:
        with_nvcc = False
    results = measure(with_nvcc=with_nvcc)
    results["figures"] = figures(results)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "emulator_speed.json"
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    good = True
    for name, value in results["figures"].items():
        target = TARGETS[name]
        met = value >= target if "elements/s" in name else value <= target
        good = good and met
        sys.stdout.write(f"{name:58} {value:8.2f}  target {target:g}  {'' if met else 'MISSED'}\n")
    for name, tools in results["compile_s"].items():
        for tool, (first, *later) in tools.items():
            sys.stdout.write(
                f"compile {name:12} {tool:5} first {first:6.1f} s, "
                f"then {statistics.median(later):5.1f} s\n"
            )
    for name, verdict in results["verdict"].items():
        sys.stdout.write(f"verdict {name:12} {verdict['status']} in {verdict['seconds']:.1f} s\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
