"""Puts the clock itself to the test on this machine's GPU.

    python tests/gpu/run_timing.py --out DIR [--budget-s 400]

Three parts, all in DIR/timing.json: the self-test (known times), what becomes of TF32 in an
fp32 spec, and the same kernel timed against itself, twenty times over, each time in two fresh
workers. Started again with the same DIR, it goes on where the budget ended; each repeat names the
environment, of those listed, that it was made in.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import torch
from figures import timing_table

from cutegen.execution.cuda import CudaExecutor
from cutegen.execution.protocol import EvaluationJob
from cutegen.measurement.baselines import Baseline
from cutegen.measurement.comparison import is_faster
from cutegen.measurement.environment import record
from cutegen.measurement.measure import SHORT_US, exclusive
from cutegen.measurement.sampling import interleave
from cutegen.measurement.self_test import run_self_test
from cutegen.measurement.telemetry import RoundWatch, Telemetry
from cutegen.spec import KernelSpec

HERE = Path(__file__).resolve().parent
SQUARE = HERE.parent / "kernelbench/level1/1_Square_matrix_multiplication_.py"
SWISH = (HERE / "kernels/swish.cu").read_text(encoding="utf-8")
THREE_PASSES = (HERE / "kernels/matmul_tf32.cu").read_text(encoding="utf-8")
ONE_PASS = THREE_PASSES.replace("kPasses = 3", "kPasses = 1")
REPEATS = 20
SAMPLES = 100
SAMPLES_OF_SHORT = 400
SHORT_PROBE_US = 100.0
BOUND = 0.01
METHOD = "pairs/v2"  # results of another method are not gone on with
UNIT_S = 25.0  # the longest step that is not begun when less is left


def swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


def product(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:  # noqa: N803 - as KernelBench
    return A @ B


def activation(*shape: int) -> KernelSpec:
    return KernelSpec.from_callable(swish, [torch.zeros(shape)])


def square(extent: int) -> KernelSpec:
    return KernelSpec.from_callable(product, [torch.zeros(extent, extent) for _ in range(2)])


KERNELS: dict[str, tuple[Callable[[], KernelSpec], str]] = {
    "swish 16x16384": (lambda: activation(16, 16384), SWISH),
    "swish 2048x12288": (lambda: activation(2048, 12288), SWISH),
    "swish 32768x16384": (lambda: activation(32768, 16384), SWISH),
    "3xTF32 2048^3": (lambda: square(2048), THREE_PASSES),
}
PRECISION: dict[str, tuple[str, str, str]] = {
    "one TF32 pass in an fp32 spec": ("fp32", ONE_PASS, "PRECISION_DOWNGRADE"),
    "three TF32 passes in an fp32 spec": ("fp32", THREE_PASSES, "PASSED"),
    "one TF32 pass in a tf32 spec": ("tf32", ONE_PASS, "PASSED"),
}


class Units:
    """The record, kept on disk after each unit of work, and the time that is left."""

    def __init__(self, out: Path, budget_s: float) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._path = out / "timing.json"
        self._end = time.monotonic() + budget_s
        try:
            self.found: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            self.found = {}
        if self.found.get("method") != METHOD:
            self.found = {"part": "timing", "method": METHOD, "precision": {}, "repeats": {}}
        self.complete = True

    def time_left(self) -> bool:
        left = self._end - time.monotonic() > UNIT_S
        self.complete = self.complete and left
        return left

    def keep(self) -> None:
        draft = self._path.with_suffix(".partial")
        draft.write_text(json.dumps(self.found) + "\n", encoding="utf-8")
        draft.replace(self._path)


def judge_precision(executor: CudaExecutor, found: dict[str, Any]) -> Iterator[None]:
    for name, (mode, source, expected) in PRECISION.items():
        if name not in found:
            spec = KernelSpec.from_kernelbench(SQUARE, math_mode=mode)
            verdict = executor.evaluate(EvaluationJob(spec=spec, source=source))
            found[name] = {
                "expected": expected,
                "as_expected": verdict.status.value == expected,
                "verdict": verdict.model_dump(mode="json"),
            }
            yield


def time_twice(executor: CudaExecutor, spec: KernelSpec, source: str, uuid: str) -> dict[str, Any]:
    """One kernel twice in one worker, then in two fresh ones, each time by turns."""
    with (
        executor.timed(spec, source) as one,
        executor.timed(spec, source) as other,
        exclusive(executor.device),
        Telemetry(uuid) as telemetry,
    ):
        watch = RoundWatch(telemetry)
        samples = SAMPLES_OF_SHORT if one.sample() < SHORT_PROBE_US else SAMPLES
        found: dict[str, Any] = {}
        # Two at a time: with a third, one of them would follow itself and spare a context switch.
        for pair, second in (("same_worker", one), ("two_workers", other)):
            timings = interleave({"one": one, "two": second}, samples, disturbed=watch.disturbed)
            compared = is_faster(timings["one"], timings["two"])
            found[pair] = {
                "samples_us": {
                    name: [round(sample, 3) for sample in timing.samples_us]
                    for name, timing in timings.items()
                },
                "compared": compared.model_dump(mode="json"),
            }
        median_us = timings["one"].median_us
        short = median_us < SHORT_US
        return {
            **found,
            "median_us": median_us,
            "calls": one.calls().model_dump(mode="json") if short else None,
            "rounds": watch.summary(),
        }


def repeat(
    executor: CudaExecutor, found: dict[str, Any], uuid: str, environment: int
) -> Iterator[None]:
    """All kernels once, then all of them again, so that a short budget shows each of them."""
    specs = {name: make() for name, (make, _) in KERNELS.items()}
    for turn in range(REPEATS):
        for name, (_, source) in KERNELS.items():
            runs = found.setdefault(name, {"runs": []})["runs"]
            if len(runs) <= turn:
                told = time_twice(executor, specs[name], source, uuid)
                runs.append({"environment": environment, **told})
                found[name]["summary"] = summarize(runs)
                yield


def summarize(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """For each pair: the interval of the ratio over all runs, and where single ratios lie.

    ``within_bound`` asks for the 95 % interval of the ratio, a mean of all runs. A single
    session of two fresh workers can differ by more: code and data lie elsewhere in memory.
    """
    found: dict[str, Any] = {
        "runs": len(runs),
        "median_us": median(run["median_us"] for run in runs),
    }
    for pair in ("same_worker", "two_workers"):
        ratios = [run[pair]["compared"]["ratio"] for run in runs]
        error = 1.96 * stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 1.0
        low, high = (float(bound) for bound in np.quantile(ratios, (0.025, 0.975)))
        mean = fmean(ratios)
        found[pair] = {
            "mean": mean,
            "mean_error": error,
            "low": low,
            "high": high,
            "within_bound": abs(mean - 1) + error <= BOUND,
            "taken_for_faster": sum(run[pair]["compared"]["outcome"] == "faster" for run in runs),
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of timing.json")
    parser.add_argument("--budget-s", type=float, default=400.0, help="seconds for everything")
    options = parser.parse_args()
    units = Units(options.out.resolve(), options.budget_s)
    executor = CudaExecutor()
    with Baseline() as baseline:
        environments: list[dict[str, Any]] = units.found.setdefault("environments", [])
        environments.append(record(baseline.facts))
        uuid = str(baseline.facts["uuid"])
        baseline.ceilings()
    if "self_test" not in units.found:
        bench = CudaExecutor(police=False)
        units.found["self_test"] = run_self_test(bench).model_dump(mode="json")
        units.keep()
    steps = chain(
        judge_precision(executor, units.found["precision"]),
        repeat(executor, units.found["repeats"], uuid, len(environments) - 1),
    )
    while units.time_left() and next(steps, units) is not units:
        units.keep()
    units.found["done"] = units.complete
    units.keep()
    sys.stdout.write(timing_table(units.found) + "\n")
    good = (
        units.complete
        and units.found["self_test"]["state"] == "passed"
        and all(case["as_expected"] for case in units.found["precision"].values())
        and all(
            case["summary"][pair]["within_bound"]
            for case in units.found["repeats"].values()
            for pair in ("same_worker", "two_workers")
        )
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
