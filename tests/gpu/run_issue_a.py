"""Measures the main job on this machine's GPU: Swish and a square product, by the playbook.

    python tests/gpu/run_issue_a.py --out DIR [--budget-s 400]

One JSON file per part appears in DIR as soon as the part is done: ``ceilings.json``, then one
per task with the raw samples of kernel and PyTorch, device, versions, commit, verdict and
steps. Every part runs in a process of its own with a share of the budget, so that a failure
or a time-out costs one part. Started again with the same DIR, it does what is missing; a graph
that was cut off is taken up where it stood. ``figures.py`` makes README's table of the files.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import summary

HERE = Path(__file__).resolve().parent
PARTS = ("ceilings", "swish", "matmul")
LEAST_S = 30.0
GRACE_S = 15.0  # a part that watches its own budget ends by itself


def read(out: Path, name: str) -> dict[str, Any]:
    """A part's record, empty when there is none."""
    try:
        record: dict[str, Any] = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record


def fail(out: Path, name: str, error: str) -> None:
    """Write down why a part has no result."""
    record = {"part": name, "done": False, "error": error}
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def start(name: str, out: Path, seconds: float) -> None:
    """Run one part in a process group of its own, and end the group in time."""
    (out / f"{name}.json").unlink(missing_ok=True)
    path = out / f"{name}.log"
    command = [sys.executable, str(HERE / "issue_a_part.py"), name, str(out), str(seconds)]
    with path.open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=HERE.parents[1], start_new_session=True
        )
        try:
            process.wait(timeout=seconds + GRACE_S)
            reason = f"the process ended with status {process.returncode}"
        except subprocess.TimeoutExpired:
            reason = f"cut off after {seconds:.0f} s; start the script again to go on"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if not read(out, name):
        tail = path.read_text(encoding="utf-8", errors="replace")[-4000:]
        fail(out, name, f"{tail}\n{reason}")


def main() -> int:
    """Run what is missing, then print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the JSON files")
    parser.add_argument("--budget-s", type=float, default=400.0, help="seconds for everything")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.budget_s
    missing = [name for name in PARTS if not read(out, name).get("done")]
    for position, name in enumerate(missing):
        left = end - time.monotonic()
        if left < LEAST_S:
            fail(out, name, "no budget was left; start the script again to go on")
        else:
            start(name, out, left / (len(missing) - position) - GRACE_S)
    records = [read(out, name) for name in PARTS]
    sys.stdout.write(summary(records) + "\n")
    for record in records:
        if not record["done"]:
            sys.stdout.write(f"\n{record['part']}:\n{record['error']}\n")
    return 0 if all(record["done"] for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
