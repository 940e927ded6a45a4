"""One part of ``run_issue_a.py``, in a process of its own: python issue_a_part.py NAME OUT SECONDS.

It writes OUT/NAME.json when it succeeds; when it does not, the traceback on standard error says
why, and ``run_issue_a.py`` writes it down.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from cutegen import run_graph
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.graphs.settings import Budget
from cutegen.measurement.baselines import Baseline
from cutegen.measurement.environment import record
from cutegen.measurement.telemetry import read_device
from cutegen.measurement.timing import MeasurementState
from cutegen.spec import KernelSpec

TESTS = Path(__file__).resolve().parents[1]
TASKS = {
    "swish": TESTS / "kernelbench/level1/25_Swish.py",
    "matmul": TESTS / "kernelbench/level1/1_Square_matrix_multiplication_.py",
}
SAMPLES = 100
FINAL_SEED = 1  # other data than the run itself saw
FINAL_S = 60.0  # kept for the last verdict and the last measurement
LEAST_RUN_S = 60.0


def measure_ceilings() -> dict[str, Any]:
    """Copy bandwidth and library rates of this device."""
    with Baseline() as baseline:
        uuid = str(baseline.facts["uuid"])
        environment = record(baseline.facts)
        environment["before"] = read_device(uuid).model_dump(mode="json")
        ceilings = baseline.ceilings()
        environment["after"] = read_device(uuid).model_dump(mode="json")
    return {"ceilings": ceilings.model_dump(mode="json"), "environment": environment}


def run_task(name: str, out: Path, seconds: float) -> dict[str, Any]:
    """The graph, then a last verdict and measurement of its best kernel on other data."""
    began = time.monotonic()
    spec = KernelSpec.from_kernelbench(TASKS[name])
    result = run_graph(
        spec,
        executor="cuda",
        budget=Budget(wall_s=max(LEAST_RUN_S, seconds - FINAL_S)),
        runs_dir=out / "runs",
        run_id=f"issue-a-{name}",
    )
    found: dict[str, Any] = {
        "task": TASKS[name].stem,
        "spec": {"id": spec.id, "math_mode": spec.math_mode.value},
        "tensors": [tensor.model_dump(mode="json") for tensor in spec.timed.tensors],
        "run": result.model_dump(mode="json"),
        "run_seconds": round(time.monotonic() - began, 1),
    }
    if result.best is None:
        return found
    source = Path(result.best.source_path).read_text(encoding="utf-8")
    executor = resolve_executor("cuda")
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=source, seed=FINAL_SEED))
    job = MeasurementJob(spec=spec, source=source, seed=FINAL_SEED, samples=SAMPLES, compiled=True)
    measurement = executor.measure(job)
    if measurement.state is MeasurementState.UNMEASURED:  # torch.compile is not usable everywhere
        found["without_compile"] = measurement.reason
        measurement = executor.measure(job.model_copy(update={"compiled": False}))
    return found | {
        "source": source,
        "verdict": verdict.model_dump(mode="json"),
        "measurement": measurement.model_dump(mode="json"),
        "environment": measurement.environment,
        "speedup": measurement.speedup,
    }


def main(name: str, out: Path, seconds: float) -> None:
    """Run one part and write its file, whole or not at all."""
    began = time.monotonic()
    found = run_task(name, out, seconds) if name in TASKS else measure_ceilings()
    found = {"part": name, "done": True, **found, "seconds": round(time.monotonic() - began, 1)}
    draft = out / f"{name}.partial"
    draft.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draft.replace(out / f"{name}.json")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
