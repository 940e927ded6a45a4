"""One playbook run on this machine's GPU, for its log: the profile edge held, opened, closed.

    python tests/gpu/run_edge.py --out DIR [--budget-s 90] [--prebuilt DIR]

The edge opens early here (one quiet structural round is enough), so that the profile finds a
design with a structure left to change: the tuner hands it back, a new structure is accepted, and
the edge opens again on that one. Specs are tried by turns until a log shows all of it. What the
playbook may write for a spec is built beforehand, on as many CPUs as there are.

DIR/edge.json holds for each run the events that concern the edge, with the steps between them.
Started again with the same DIR, it goes on with the specs that are missing.
"""

import argparse
import concurrent.futures
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from ablation_tasks import designs_of, spec_of  # noqa: E402 - its folder is known only now
from kernelbench_tasks import Prebuilt  # noqa: E402

from cutegen.events import (  # noqa: E402
    Event,
    PredicateChanged,
    PredicateHeld,
    Profiled,
    Selected,
    read_events,
)
from cutegen.execution.cuda import CudaExecutor  # noqa: E402
from cutegen.graphs.running import run_graph  # noqa: E402
from cutegen.graphs.settings import Budget, StabilityPolicy  # noqa: E402
from cutegen.history import Decision, StepKind  # noqa: E402
from cutegen.measurement.environment import driver_version, git_commit  # noqa: E402
from cutegen.spec import KernelSpec  # noqa: E402

EARLY = StabilityPolicy(window=1, least_rounds=1, epsilon=0.02)
SPECS = ("matmul_2048", "softmax_of_few_rows")
LEAST_S = 30.0
STEPS = 12
TOLD = (PredicateChanged, PredicateHeld, Profiled, Selected)


def build_ahead(spec: KernelSpec, executor: CudaExecutor) -> dict[str, Any]:
    """Fill the build cache with what the playbook may write."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda source: executor.build(spec, source), designs_of(spec)))
    return {
        "builds": len(built),
        "failed": [result.status.value for result in built if result.library is None],
        "seconds": round(time.monotonic() - began, 1),
    }


def story(events: Sequence[Event]) -> list[str]:
    """What the log says of the edge, in order: ``held``, ``opened``, ``closed``, ``structure``."""
    told: list[str] = []
    for event in events:
        match event:
            case PredicateHeld():
                word = "held"
            case PredicateChanged(stable=stable):
                word = "opened" if stable else "closed"
            case Selected(kind=StepKind.STRUCTURAL, decision=Decision.ACCEPTED):
                word = "structure"
            case _:
                continue
        if not told or told[-1] != word:
            told.append(word)
    return told


def is_whole(told: Sequence[str]) -> bool:
    """Held, opened, closed, a structure accepted while it was closed, opened again."""
    words = iter(told)
    return all(word in words for word in ("held", "opened", "closed", "structure", "opened"))


def run(name: str, out: Path, seconds: float, prebuilt: Path | None) -> dict[str, Any]:
    """One run, and what its log says."""
    began = time.monotonic()
    spec = spec_of(name)
    executor = CudaExecutor(toolchain=Prebuilt(prebuilt))
    ahead = build_ahead(spec, executor)
    left = max(1.0, seconds - (time.monotonic() - began))
    result = run_graph(
        spec,
        executor=executor,
        policy=EARLY,
        budget=Budget(steps=STEPS, wall_s=left, target=0.0),
        runs_dir=out / "runs",
        run_id=f"edge-{name}",
    )
    events = read_events(result.run_dir / "log.jsonl")  # a run that was taken up began earlier
    told = story(events)
    return {
        "status": result.status.value,
        "reason": result.reason,
        "story": told,
        "whole": is_whole(told),
        "events": [event.model_dump(mode="json") for event in events if isinstance(event, TOLD)],
        "steps": [s.model_dump(mode="json", exclude={"fingerprint"}) for s in result.steps],
        "speedup": result.best.speedup if result.best else None,
        "built_ahead": ahead,
        "seconds": round(time.monotonic() - began, 1),
    }


def table(record: dict[str, Any]) -> str:
    """The edge's story, one line per event."""
    lines = []
    for name, case in record["runs"].items():
        lines.append(f"{name}: {' → '.join(case['story'])} ({case['seconds']} s, {case['reason']})")
        for event in case["events"]:
            kind = event["event"]
            told = event.get("why") or event.get("evidence") or event.get("reason", "")
            lines.append(f"  {kind} {event.get('decision', event.get('stable', ''))}: {told[:150]}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of edge.json")
    parser.add_argument("--budget-s", type=float, default=90.0, help="seconds for everything")
    parser.add_argument("--spec", nargs="*", default=list(SPECS), help="specs to try, in order")
    parser.add_argument("--prebuilt", type=Path, help="folder of run_ablation.py --build-only")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    file = out / "edge.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": {}}
    found |= {
        "part": "edge",
        "commit": os.environ.get("CUTEGEN_COMMIT") or git_commit(),
        "gpu": torch.cuda.get_device_name(0),
        "driver": driver_version(),
        "torch": torch.__version__,
        "policy": EARLY.model_dump(),
    }
    end = time.monotonic() + options.budget_s
    for name in options.spec:
        if any(case["whole"] for case in found["runs"].values()):
            break
        left = end - time.monotonic()
        if name in found["runs"] or left < LEAST_S:
            continue
        found["runs"][name] = run(name, out, left, options.prebuilt)
        file.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(table(found) + "\n")
    return 0 if any(case["whole"] for case in found["runs"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
