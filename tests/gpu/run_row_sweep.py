"""Times variants of the designs for rows beside each other, and says which is the fastest.

    python tests/gpu/run_row_sweep.py --out DIR [--budget-s 60] [--prebuilt DIR] [--tasks 23,24]
    python tests/gpu/run_row_sweep.py --build-only DIR

All variants of a task are loaded into one process and called by turns on one input, so a variant
costs a twentieth of a second. A quick look, not a verdict: outputs are compared with PyTorch's,
times are CUDA events with a cold L2, while the host is ahead of the device. Beside them stands
what tells a slow host from a slow kernel: the same without waiting for the host, and on a warm
L2, and the host's own microseconds. DIR/row_sweep.json holds the raw samples.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # PYTHONSAFEPATH leaves it out

from kernelbench_tasks import Prebuilt, prebuild, task_files  # noqa: E402 - its folder is known only now

from cutegen.agents.models.playbook.rows import RowDesign, RowPlan  # noqa: E402
from cutegen.execution.callable import load_callable  # noqa: E402
from cutegen.kernel import args_header  # noqa: E402
from cutegen.measurement.environment import git_commit  # noqa: E402
from cutegen.spec import KernelSpec  # noqa: E402
from cutegen.toolchain.protocol import BuildRequest  # noqa: E402

CUSTOM = HERE.parent / "kernelbench" / "custom"
NAMED = ("softmax_rows", "rms_norm_rows", "layer_norm_rows", "row_sum")
ROUNDS = 15
FLUSH_BYTES = 256 << 20
SPIN_CYCLES = 1_000_000  # half a millisecond: the host has queued a call by then
FULL = {"vectorized": True, "online": True, "shared": True, "ring": True}
LONG: Mapping[str, dict[str, Any]] = {
    "online": {"vectorized": True, "online": True, "batch": 4, "threads": 1024},
    "cluster8": FULL | {"cluster": 8, "threads": 512, "ring": False},
    "cluster16": FULL | {"cluster": 16, "threads": 512, "ring": False},
    "ring8-t256": FULL | {"cluster": 8, "threads": 256, "depth": 8},
    "ring8-t512": FULL | {"cluster": 8, "threads": 512},
    "ring8-t512-stream": FULL | {"cluster": 8, "threads": 512, "streaming": True},
    "ring8-t1024": FULL | {"cluster": 8, "threads": 1024},
    "ring16-t512": FULL | {"cluster": 16, "threads": 512},
    "ring16-t512-stream": FULL | {"cluster": 16, "threads": 512, "streaming": True},
    "ring16-t1024": FULL | {"cluster": 16, "threads": 1024, "depth": 2},
    "ring16-t256": FULL | {"cluster": 16, "threads": 256},
}
SHORT: Mapping[str, dict[str, Any]] = {
    "online": {"vectorized": True, "online": True, "batch": 4},
    "registers-t128": {"vectorized": True, "registers": True, "threads": 128},
    "registers-t256": {"vectorized": True, "registers": True, "threads": 256},
    "registers-t512": {"vectorized": True, "registers": True, "threads": 512},
    "registers-t256-stream": {
        "vectorized": True,
        "registers": True,
        "threads": 256,
        "streaming": True,
    },
    "ring-t128": FULL | {"threads": 128, "depth": 2},
    "ring-t256": FULL | {"threads": 256, "depth": 2},
    "block-t256": FULL | {"threads": 256, "depth": 2, "ring": False},
}


def variants(spec: KernelSpec) -> dict[str, str]:
    """The sources of all variants that fit, by name."""
    plan = RowPlan(spec)
    chosen = LONG if plan.first.columns > 65536 else SHORT
    designs = {name: plan.first.model_copy(update=changes) for name, changes in chosen.items()}
    designs = {name: design for name, design in designs.items() if _useful(plan, design)}
    return {name: plan.render(design) for name, design in designs.items()}


def _useful(plan: RowPlan, design: RowDesign) -> bool:
    return plan.fits(design) and (plan.first.passes_plain > 1 or not design.kept)


def swept(spec: KernelSpec, sources: Mapping[str, str], prebuilt: Path | None) -> dict[str, Any]:
    """Every variant's samples in microseconds, and its largest difference from PyTorch."""
    toolchain, header = Prebuilt(prebuilt), args_header(spec)

    def build(source: str) -> Any:
        return toolchain.build(BuildRequest(source=source, header=header))

    with ThreadPoolExecutor(8) as pool:
        builds = dict(zip(sources, pool.map(build, sources.values()), strict=True))
    inputs = [
        torch.randn(argument.shape, dtype=argument.dtype.torch, device="cuda")
        for argument in spec.timed.of("input")
    ]
    module = spec.reference.build().cuda()
    with torch.no_grad():
        expected = module(*inputs)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    calls: dict[str, Any] = {"eager": lambda: module(*inputs)}
    found: dict[str, Any] = {"eager": {"samples_us": []}}
    for name, build_result in builds.items():
        if build_result.library is None:
            found[name] = {"error": build_result.advice or str(build_result.diagnostics[:1])}
            continue
        kernel = load_callable(spec, build_result.library, "cuda")
        try:
            output = kernel(*inputs)
            torch.cuda.synchronize()
        except RuntimeError as error:
            found[name] = {"error": str(error)}
            continue
        difference = float((output - expected).abs().max())
        del output
        found[name] = {
            "difference": difference,
            "samples_us": [],
            "kernels_us": kernels(kernel, inputs),
        }
        calls[name] = lambda kernel=kernel: kernel(*inputs)
    with torch.no_grad():
        for _ in range(ROUNDS):
            for name, call in calls.items():
                each = found[name]
                each["samples_us"].append(timed(call, flush, spin=True)[0])
                device_us, host_us = timed(call, flush, spin=False)
                each.setdefault("hurried_us", []).append(device_us)
                each.setdefault("host_us", []).append(host_us)
                each.setdefault("warm_us", []).append(timed(call, None, spin=True)[0])
    return found


def timed(call: Any, flush: torch.Tensor | None, *, spin: bool) -> tuple[float, float]:
    """Microseconds of one call between events, and of the host until it had queued it.

    Without ``spin`` a call from Python takes the host longer than the flush takes the device,
    which then waits between the events.
    """
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for event in (start, stop):
        event.record()  # it is made by its first use
    torch.cuda.synchronize()
    if flush is not None:
        flush.zero_()
    if spin:
        torch.cuda._sleep(SPIN_CYCLES)  # noqa: SLF001 - the only spin PyTorch has
    start.record()
    began = time.perf_counter()
    call()
    host_us = (time.perf_counter() - began) * 1e6
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) * 1e3, host_us


def kernels(call: Any, inputs: list[torch.Tensor]) -> dict[str, float]:
    """Microseconds of every kernel of one call, warm, as the profiler sees them."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call(*inputs)
        torch.cuda.synchronize()
    return {
        event.key.partition("(")[0].partition("<")[0][-40:]: round(event.device_time_total, 1)
        for event in profile.key_averages()
        if event.device_time_total
    }


def show(task: str, found: Mapping[str, Any], nbytes: int) -> None:
    """One line per variant, the fastest first."""
    sampled = {name: each for name, each in found.items() if each.get("samples_us")}
    for name, each in sorted(sampled.items(), key=lambda item: median(item[1]["samples_us"])):
        time_us = median(each["samples_us"])
        sys.stdout.write(
            f"{task} {name}: {time_us:.1f} us, {nbytes / time_us / 1e6:.2f} TB/s, "
            f"hurried {median(each['hurried_us']):.1f}, warm {median(each['warm_us']):.1f}, "
            f"host {median(each['host_us']):.1f} us, "
            f"off by {each.get('difference', 0):.1e} {each.get('kernels_us', '')}\n"
        )
    for name in found.keys() - sampled.keys():
        sys.stdout.write(f"{task} {name}: {found[name]['error'][:300]}\n")
    sys.stdout.flush()


def main() -> int:
    """Sweep every task that the budget allows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="23,24", help="numbers and ranges: 23,24")
    parser.add_argument("--out", type=Path, help="folder of row_sweep.json")
    parser.add_argument("--budget-s", type=float, default=60.0, help="seconds for everything")
    parser.add_argument("--build-only", type=Path, help="build into this folder; needs no GPU")
    parser.add_argument("--prebuilt", type=Path, help="folder that --build-only filled")
    options = parser.parse_args()
    paths = [*task_files(options.tasks).values(), *(CUSTOM / f"{name}.py" for name in NAMED)]
    if options.build_only:
        for path in paths:
            spec = KernelSpec.from_kernelbench(path)
            results = prebuild(spec, variants(spec).values(), options.build_only)
            sys.stdout.write(f"{path.stem}: {[str(result.status) for result in results]}\n")
        return 0
    end = time.monotonic() + options.budget_s
    record: dict[str, Any] = {"commit": git_commit(), "gpu": torch.cuda.get_device_name()}
    record["tasks"] = {}
    options.out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        if time.monotonic() > end:
            break
        spec = KernelSpec.from_kernelbench(path)
        record["tasks"][path.stem] = found = swept(spec, variants(spec), options.prebuilt)
        (options.out / "row_sweep.json").write_text(json.dumps(record, indent=1) + "\n")
        show(path.stem, found, spec.timed.nbytes)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
