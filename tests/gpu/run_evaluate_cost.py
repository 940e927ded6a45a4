"""What `cutegen evaluate` costs on this machine's GPU, apart from the build, and where it goes.

    python tests/gpu/run_evaluate_cost.py --out DIR [--budget-s 60] [--all]

Two kernels (swish, a 4096 square product), with ``--all`` also softmax and layer norm, each by
the command itself: once with nothing built, then with the build cached. DIR/evaluate_cost.json
is written after each command; started again, the script does what is missing. ``start`` is what
lies outside the command's own stages: the interpreter and the imports. ``total`` is wall clock
minus what the toolchain took, which is nothing for a cached build.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from cutegen.measurement.baselines import Baseline
from cutegen.measurement.environment import record

HERE = Path(__file__).resolve().parent
SPECS = HERE.parent / "kernelbench"
TASKS = {
    "swish": "level1/25_Swish.py",
    "matmul_fp32": "level1/1_Square_matrix_multiplication_.py",
    "softmax": "level1/23_Softmax.py",
    "layer_norm": "custom/layer_norm_rows.py",
}
TARGET_S = 3.0
TURNS = 2  # the first builds
FIRST = ("swish", "matmul_fp32")
LEAST_S = 10.0


def evaluate(kernel: Path, spec: Path, seconds: float) -> dict[str, Any]:
    """One command: wall clock, its stages, the verdict and its breakdown."""
    command = [sys.executable, "-P", "-m", "cutegen", "evaluate", str(kernel), "--spec", str(spec)]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, "--executor", "cuda", "--json"],
            stdout=out,
            stderr=log,
            cwd=HERE.parents[1],
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {"error": f"cut off after {seconds:.0f} s"}
        wall = time.monotonic() - began
        out.seek(0)
        log.seek(0)
        text, errors = out.read().decode(), log.read().decode(errors="replace")
    try:
        answer = json.loads(text.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": f"status {status}: {errors[-3000:]}"}
    stages = answer["stages"]
    measurement = answer["measurement"] or {}
    candidate = measurement.get("candidate") or {}
    return {
        "wall_s": round(wall, 3),
        "apart_from_build_s": round(wall - answer["toolchain_s"], 3),
        "toolchain_s": answer["toolchain_s"],
        "start_s": round(wall - sum(stages.values()), 3),
        "stages_s": stages,
        "verdict_s": answer["breakdown"],
        "status": answer["status"],
        "summary": answer["evidence"]["summary"],
        "hints": answer["evidence"]["hints"],
        "facts": answer["evidence"]["facts"],
        "errors": answer["evidence"]["errors"],
        "measured": {"state": measurement.get("state"), "reason": measurement.get("reason")},
        "samples_us": candidate.get("samples_us", []),
    }


def write(path: Path, found: dict[str, Any]) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(".partial")
    draft.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def run(found: dict[str, Any], tasks: Sequence[str], path: Path, end: float) -> None:
    """Every turn of every task that is missing, each written down at once."""
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            turns: list[dict[str, Any]] = found["tasks"].setdefault(task, [])
            turns[:] = [turn for turn in turns if "error" not in turn]
            source = (HERE / f"kernels/{task}.cu").read_text(encoding="utf-8")
            kernel = Path(folder) / f"{task}.cu"
            kernel.write_text(f"{source}// {uuid4().hex}\n", encoding="utf-8")
            while len(turns) < TURNS:
                left = end - time.monotonic()
                if left < LEAST_S:
                    return
                turns.append(evaluate(kernel, SPECS / TASKS[task], left))
                write(path, found)
                if "error" in turns[-1]:
                    break


def table(found: dict[str, Any]) -> str:
    """Medians in seconds, of all turns but the one that built."""
    head = ("task", "status", "total", "start", "spec", "verdict", "measurement")
    rows = ["  ".join(f"{name:>12}" for name in (*head, "of the verdict"))]
    for task, turns in found["tasks"].items():
        good = [turn for turn in turns if "error" not in turn]
        if not good:
            rows.append(f"{task:>12}  {turns[-1]['error'] if turns else 'not run'}")
            continue
        built = good[0]
        cached = good[1:] or good

        def middle(*keys: str, turns: list[dict[str, Any]] = cached) -> str:
            def value(turn: dict[str, Any]) -> float:
                for key in keys:
                    turn = turn.get(key, 0.0)
                return float(turn)  # type: ignore[arg-type]

            return f"{median(map(value, turns)):.2f}"

        cells = [
            task,
            good[-1]["status"],
            middle("apart_from_build_s"),
            middle("start_s"),
            *(middle("stages_s", name) for name in ("spec", "verdict", "measurement")),
        ]
        parts = ", ".join(f"{name} {middle('verdict_s', name)}" for name in good[-1]["verdict_s"])
        rows.append("  ".join(f"{cell:>12}" for cell in cells) + f"  {parts}")
        first = built["apart_from_build_s"]
        rows.append(f"{'':>12}  {first:.2f} s beside a build of {built['toolchain_s']:.2f} s")
        if good[-1]["status"] != "PASSED":
            rows.append(f"{'':>12}  {good[-1]['summary']}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of evaluate_cost.json")
    parser.add_argument("--budget-s", type=float, default=60.0, help="seconds for everything")
    parser.add_argument("--all", action="store_true", help="all four kernels")
    options = parser.parse_args()
    tasks = tuple(TASKS) if options.all else FIRST
    end = time.monotonic() + options.budget_s
    path: Path = options.out.resolve() / "evaluate_cost.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        found = {"part": "evaluate_cost", "target_s": TARGET_S, "tasks": {}}
    with Baseline() as baseline:  # the ceilings are known before, as after any first use
        baseline.ceilings()
        found["environment"] = record(baseline.facts)
    run(found, tasks, path, end)
    write(path, found)
    sys.stdout.write(table(found) + "\n")
    whole = all(len(found["tasks"].get(task, [])) >= TURNS for task in tasks)
    cached = [turn for turns in found["tasks"].values() for turn in turns[1:]]
    quick = all(turn.get("apart_from_build_s", TARGET_S) < TARGET_S for turn in cached)
    return 0 if whole and quick else 1


if __name__ == "__main__":
    sys.exit(main())
