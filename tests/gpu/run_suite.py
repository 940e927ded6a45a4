"""Runs a suite on this machine's GPU, and times its winners once more with nobody else at work.

    python tests/gpu/run_suite.py --out DIR [--budget-s 180]

``suite.json`` appears in DIR: the suite's result, and for each winner the time that its run
claimed, while the other members built and waited, beside one taken alone. If measuring by turns
works, the two agree within their spread. Started again with the same DIR it goes on: the suite
where it was, then the times that are missing. What does not fit the budget is named.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from cutegen import Budget, resume_suite, run_suite
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import MeasurementJob
from cutegen.graphs.suite_following import is_suite
from cutegen.measurement.environment import git_commit
from cutegen.result import SPEC_FILE, RunResult
from cutegen.spec import KernelSpec
from cutegen.suite import SuiteResult

CUSTOM = Path(__file__).resolve().parents[1] / "kernelbench" / "custom"
SPECS = ("small_swish", "softmax_rows", "swiglu")
SUITE = "side-by-side"
SAME = 1.05  # two times of one kernel within 5 % agree
LEAST_S = 20.0  # a measurement with its baseline


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt this process, as Ctrl-C does, when the time is over."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(max(1, int(seconds)))
    try:
        yield
    finally:
        signal.alarm(0)


def suite_in(out: Path, seconds: float) -> SuiteResult | None:
    """The suite's result; None when the time was over before."""
    try:
        with at_most(seconds):
            if is_suite(out / SUITE):
                return resume_suite(out / SUITE, jobs=len(SPECS))
            return run_suite(
                [CUSTOM / f"{name}.py" for name in SPECS],
                executor="cuda",
                budget=Budget(steps=1),
                runs_dir=out,
                suite_id=SUITE,
                jobs=len(SPECS),
            )
    except KeyboardInterrupt:
        return None


def alone(result: RunResult) -> dict[str, Any]:
    """The winner of a run, timed while nobody else is at work."""
    assert result.best is not None
    spec = KernelSpec.model_validate_json((result.run_dir / SPEC_FILE).read_text())
    job = MeasurementJob(spec=spec, source=result.best.source)
    return resolve_executor("cuda").measure(job).model_dump(mode="json")


def table(record: dict[str, Any]) -> str:
    """One line per member."""
    lines = []
    for member in record["suite"]["members"]:
        again = record["alone"].get(member["run_id"], {}).get("candidate")
        claimed = member["time_us"]
        if claimed and again:
            ratio = again["median_us"] / claimed
            word = "agree" if 1 / SAME < ratio < SAME else "DIFFER"
            said = f"{claimed:.2f} µs in the suite, {again['median_us']:.2f} µs alone: {word}"
        else:
            said = member["reason"] if claimed is None else "not timed alone: no budget was left"
        speedup = f"{member['speedup']:.2f}x" if member["speedup"] else "-"
        lines.append(f"{member['run_id']:14} {member['status']:10} {speedup:>7}  {said}")
    return "\n".join(lines)


def main() -> int:
    """Run the suite, then time what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of suite.json")
    parser.add_argument("--budget-s", type=float, default=180.0, help="seconds for everything")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    suite = suite_in(out, options.budget_s - LEAST_S)
    if suite is None:
        sys.stdout.write("the budget ended before the suite did: start the script again\n")
        return 1
    file = out / "suite.json"
    earlier = json.loads(file.read_text())["alone"] if file.exists() else {}
    record: dict[str, Any] = {
        "suite": suite.model_dump(mode="json"),
        "suite_wall_s": round(time.monotonic() - began, 1),
        "alone": earlier,
        "commit": os.environ.get("CUTEGEN_COMMIT") or git_commit(),
    }
    for member in suite.members:
        left = options.budget_s - (time.monotonic() - began)
        if member.verified and member.run_id not in earlier and left > LEAST_S:
            record["alone"][member.run_id] = alone(RunResult.load(member.run_dir))
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{table(record)}\n")
    geomean = suite.geomean_speedup
    sys.stdout.write(f"geometric mean {geomean:.2f}x\n" if geomean else "nothing was measured\n")
    timed = all(member.run_id in record["alone"] for member in suite.members if member.verified)
    return 0 if timed and suite.verified == len(SPECS) else 1


if __name__ == "__main__":
    sys.exit(main())
