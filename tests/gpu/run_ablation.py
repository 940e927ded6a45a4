"""The ablation of profiling: three modes times eight specs, by the playbook on this machine's GPU.

    python tests/gpu/run_ablation.py --out DIR [--budget-s 600] [--jobs 4] [--prebuilt DIR]
    python tests/gpu/run_ablation.py --build-only DIR [--spec NAME …] [--most 12]

DIR/ablation.json grows with each run: mode, spec, speed-up, best time, steps, builds, wall clock.
Specs run side by side, the modes of one spec after each other, so that they share its builds; the
GPU is locked while anything is verified or timed. Started again with the same DIR, the script
does what is missing, and takes up runs that were cut off.

``--build-only`` needs no GPU: it builds what the playbook is likeliest to write, for every spec
and those of run_edge.py, and says how large that is; ``--prebuilt`` takes it from there.
"""

import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from ablation_figures import MODES, ablation_table  # noqa: E402 - its folder is known only now
from ablation_tasks import OTHERS, TASKS, designs_of, spec_of  # noqa: E402
from kernelbench_tasks import Prebuilt, prebuild  # noqa: E402

from cutegen.events import Built, PredicateChanged, Profiled, read_events  # noqa: E402
from cutegen.execution.cuda import CudaExecutor  # noqa: E402
from cutegen.graphs.running import run_graph  # noqa: E402
from cutegen.graphs.settings import Budget  # noqa: E402
from cutegen.history import Decision, Step, StepKind  # noqa: E402
from cutegen.measurement.environment import driver_version, git_commit  # noqa: E402

STEPS = 8
LEAST_S = 30.0


def one(mode: str, name: str, out: Path, prebuilt: Path | None) -> None:
    """One run, in this process; its record appears whole or not at all."""
    began = time.monotonic()
    result = run_graph(
        spec_of(name),
        executor=CudaExecutor(toolchain=Prebuilt(prebuilt)),
        budget=Budget(steps=STEPS),
        profiling=mode,  # type: ignore[arg-type]  # one of the modes
        runs_dir=out / "runs",
        run_id=f"{mode}-{name}",
    )
    events = read_events(result.run_dir / "log.jsonl")
    built = [event for event in events if isinstance(event, Built)]
    best = result.best
    record = {
        "mode": mode,
        "spec": name,
        "status": result.status.value,
        "reason": result.reason,
        "method": result.method.model_dump(),
        "speedup": best.speedup if best else None,
        "time_us": best.timing.median_us if best and best.timing else None,
        "samples_us": best.timing.samples_us if best and best.timing else None,
        "roofline_fraction": best.roofline_fraction if best else None,
        "proposals": sum(map(is_a_proposal, result.steps)),
        "proposals_to_best": proposals_to_best(result.steps),
        "builds": len(built),
        "builds_anew": sum(not event.cached for event in built),
        "profiles": sum(isinstance(event, Profiled) for event in events),
        "edge": [[e.stable, e.why] for e in events if isinstance(e, PredicateChanged)],
        "steps": [step.model_dump(mode="json", exclude={"fingerprint"}) for step in result.steps],
        "run_s": result.seconds,
        "wall_s": round(time.monotonic() - began, 1),
        "environment": result.environment,
    }
    draft = record_file(out, mode, name).with_suffix(".partial")
    draft.parent.mkdir(exist_ok=True)
    draft.write_text(json.dumps(record) + "\n", encoding="utf-8")
    draft.replace(draft.with_suffix(".json"))


def is_a_proposal(step: Step) -> bool:
    """Whether a step spent one of the optimizers' proposals."""
    return step.kind in {StepKind.STRUCTURAL, StepKind.TUNING} and not step.beside


def proposals_to_best(steps: tuple[Step, ...]) -> int:
    """How many proposals it took to the kernel that was best in the end."""
    accepted = [i for i, step in enumerate(steps) if step.decision is Decision.ACCEPTED]
    return sum(map(is_a_proposal, steps[: accepted[-1] + 1])) if accepted else 0


def record_file(out: Path, mode: str, name: str) -> Path:
    """Where a run's record lies."""
    return out / "ablation" / f"{mode}-{name}.json"


def modes_of(name: str, out: Path, end: float, prebuilt: Path | None) -> None:
    """The missing runs of one spec, each in a process group of its own, while time is left."""
    for mode in MODES:
        left = end - time.monotonic()
        if record_file(out, mode, name).exists() or left < LEAST_S:
            continue
        command = [sys.executable, str(HERE / "run_ablation.py"), "--one", mode, name]
        command += ["--prebuilt", str(prebuilt)] if prebuilt else []
        log = out / f"{mode}-{name}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*command, "--out", str(out)], stdout=stream, stderr=stream, start_new_session=True
            )
            try:
                process.wait(timeout=left)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return
        if not record_file(out, mode, name).exists():
            tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            sys.stdout.write(f"{mode} {name} failed:\n{tail}\n")


def collected(out: Path) -> dict[str, Any]:
    """All records there are, with what they depend on."""
    runs = [json.loads(file.read_text()) for file in sorted((out / "ablation").glob("*.json"))]
    gpu = next((run["environment"]["measurement"] for run in runs if run["time_us"]), {})
    return {
        "part": "ablation",
        "steps": STEPS,
        "commit": os.environ.get("CUTEGEN_COMMIT") or git_commit(),
        "driver": driver_version(),
        "device": gpu,
        "runs": [{k: v for k, v in run.items() if k != "environment"} for run in runs],
    }


def build_only(names: list[str], folder: Path, most: int) -> int:
    """Build for another machine; says what does not build."""
    failed = 0
    for name in names:
        began = time.monotonic()
        spec = spec_of(name)
        results = prebuild(spec, designs_of(spec, most), folder)
        bad = [result for result in results if result.library is None]
        failed += len(bad)
        sys.stdout.write(f"{name}: {len(results) - len(bad)} of {len(results)} built, ")
        sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
        sys.stdout.write("".join(f"  {r.status}: {r.log[-300:]}\n" for r in bad))
        sys.stdout.flush()
    size = sum(file.stat().st_size for file in folder.glob("*"))
    sys.stdout.write(f"{folder}: {size / 2**20:.0f} MiB\n")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder of ablation.json")
    parser.add_argument("--budget-s", type=float, default=600.0, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=4, help="specs side by side")
    parser.add_argument("--spec", nargs="*", default=list(TASKS), help="which specs")
    parser.add_argument("--build-only", type=Path, help="build into this folder, no more")
    parser.add_argument("--most", type=int, default=12, help="builds per spec, with --build-only")
    parser.add_argument("--prebuilt", type=Path, help="folder that --build-only filled")
    parser.add_argument("--one", nargs=2, metavar=("MODE", "SPEC"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build_only:
        return build_only([*OTHERS, *options.spec], options.build_only, options.most)
    if options.out is None:
        parser.error("--out is needed")
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if options.one:
        one(*options.one, out, options.prebuilt)
        return 0
    prebuilt = options.prebuilt.resolve() if options.prebuilt else None
    end = time.monotonic() + options.budget_s
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda name: modes_of(name, out, end, prebuilt), options.spec))
    found = collected(out)
    (out / "ablation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(ablation_table(found) + "\n")
    return 0 if len(found["runs"]) >= len(MODES) * len(options.spec) else 1


if __name__ == "__main__":
    sys.exit(main())
