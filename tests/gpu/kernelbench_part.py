"""One task of ``run_kernelbench.py``, in a process of its own.

    python kernelbench_part.py TASK.py OUT run|check PREBUILT

It reads the reference, builds its ladder, and waits for the seconds it has on standard input:
until then another task has the device to itself. It writes OUT/<number>.json when it succeeds; when
it does not, the traceback on standard error says why, and ``run_kernelbench.py`` writes it down.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves it out

from kernelbench_tasks import Prebuilt, ladder

from cutegen import run_graph
from cutegen.execution.callable import load_callable
from cutegen.execution.cuda import CudaExecutor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.graphs.settings import Budget
from cutegen.kernel import args_header
from cutegen.measurement.timing import MeasurementState
from cutegen.spec import KernelSpec, TensorArg
from cutegen.toolchain.protocol import BuildRequest, BuildResult

SAMPLES = {"check": 50, "run": 100}
FINAL_SEED = 1  # other data than the run itself saw
FINAL_S = 45.0  # kept for the last verdict and the last measurement
LEAST_RUN_S = 30.0
QUICK = 9  # calls of a design, of which the first third warms up
BUILDS = 8  # side by side: the cores are idle while the device works


def main(path: Path, out: Path, mode: str, prebuilt: str) -> None:
    """Run one task and write its file, whole or not at all."""
    number = int(path.stem.split("_")[0])
    spec = KernelSpec.from_kernelbench(path)
    sources = ladder(spec)
    toolchain = Prebuilt(Path(prebuilt) if prebuilt else None)
    with ThreadPoolExecutor(BUILDS) as pool:
        builds = list(pool.map(partial(build, spec, toolchain), sources))
    seconds = float(sys.stdin.readline())  # from here on the device is ours
    began = time.monotonic()
    executor = CudaExecutor(toolchain=toolchain)
    found: dict[str, Any] = {
        "part": f"task-{number:03}",
        "task": path.stem,
        "mode": mode,
        "spec": {"id": spec.id, "math_mode": spec.math_mode.value},
        "tensors": [tensor.model_dump(mode="json") for tensor in spec.timed.tensors],
    }
    if mode == "check":
        found["run"] = {"status": "CHECKED", "reason": "the fastest design of the ladder"}
        quick = [quick_us(spec, each) for each in builds]
        found["ladder_us"] = [each if each < inf else None for each in quick]
        source: str | None = sources[quick.index(min(quick))]
    else:
        wall_s = max(LEAST_RUN_S, began + seconds - time.monotonic() - FINAL_S)
        result = run_graph(
            spec,
            executor=executor,
            budget=Budget(wall_s=wall_s),
            runs_dir=out / "runs",
            run_id=f"kernelbench-{number:03}",
        )
        found["run"] = result.model_dump(mode="json")
        found["run_seconds"] = round(time.monotonic() - began, 1)
        source = result.best.source if result.best is not None else None
    if source is not None:
        found |= measured(spec, executor, source, SAMPLES[mode])
    found |= {"done": True, "seconds": round(time.monotonic() - began, 1)}
    draft = out / f"{number:03}.partial"
    draft.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draft.replace(out / f"{number:03}.json")


def build(spec: KernelSpec, toolchain: Prebuilt, source: str) -> BuildResult:
    """Build one design."""
    return toolchain.build(BuildRequest(source=source, header=args_header(spec)))


def quick_us(spec: KernelSpec, built: BuildResult) -> float:
    """The median of a few calls in this process, in microseconds: enough to choose by.

    Infinite for a design that cannot be built or called.
    """
    if built.library is None:
        return inf
    kernel = load_callable(spec, built.library, "cuda")
    inputs = [
        torch.rand(argument.shape, dtype=argument.dtype.torch, device="cuda")
        if isinstance(argument, TensorArg)
        else argument.value
        for argument in spec.arguments
    ]
    samples = []
    try:
        for _ in range(QUICK):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            kernel(*inputs)
            stop.record()
            torch.cuda.synchronize()
            samples.append(start.elapsed_time(stop) * 1e3)
    except RuntimeError:
        return inf
    finally:
        del inputs
        torch.cuda.empty_cache()
    return median(samples[QUICK // 3 :])


def measured(spec: KernelSpec, executor: CudaExecutor, source: str, samples: int) -> dict[str, Any]:
    """A verdict and a measurement beside eager and compiled PyTorch, on new data."""
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=source, seed=FINAL_SEED))
    found: dict[str, Any] = {"source": source, "verdict": verdict.model_dump(mode="json")}
    if not verdict.passed:
        return found
    job = MeasurementJob(spec=spec, source=source, seed=FINAL_SEED, samples=samples, compiled=True)
    measurement = executor.measure(job)
    if measurement.state is MeasurementState.UNMEASURED:  # torch.compile is not usable everywhere
        found["without_compile"] = measurement.reason
        measurement = executor.measure(job.model_copy(update={"compiled": False}))
    return found | {
        "measurement": measurement.model_dump(mode="json"),
        "environment": measurement.environment,
        "speedup": measurement.speedup,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
