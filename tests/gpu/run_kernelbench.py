"""Runs KernelBench level 1 tasks through the graph on this machine's GPU, by the playbook.

    python tests/gpu/run_kernelbench.py --tasks 19-32 --out DIR [--budget-s 570] [--task-s 90]
    python tests/gpu/run_kernelbench.py --tasks 19-32 --out DIR --check
    python tests/gpu/run_kernelbench.py --tasks 19-32 --build-only DIR [--ladder]

One JSON per task appears in the output folder as soon as the task is done, with the raw samples of
kernel, eager and compiled PyTorch, device, versions, commit, verdict and steps. Started again with
the same folder, it does what is missing; a graph that was cut off is taken up where it stood.

``--check`` judges and times the fastest design of each ladder directly, without the graph.
``--build-only`` builds these designs with nvcc into a folder, on a machine without a GPU, and
``--prebuilt`` takes them from there; ``--ladder`` builds every design on the way too.
``kernelbench_figures.py`` makes README's table and the plot of the files.
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

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # PYTHONSAFEPATH leaves it out

from kernelbench_figures import summary  # noqa: E402 - its folder is known only now
from kernelbench_tasks import ladder, prebuild, task_files  # noqa: E402

from cutegen.spec import KernelSpec  # noqa: E402

LEAST_S = {"check": 20.0, "run": 60.0}
GRACE_S = 15.0  # a part that watches its own budget ends by itself


def read(out: Path, number: int) -> dict[str, Any]:
    """A task's record, empty when there is none."""
    try:
        record: dict[str, Any] = json.loads((out / f"{number:03}.json").read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record


class Part:
    """One task in a process group of its own, which is read and built while another measures."""

    def __init__(self, path: Path, out: Path, mode: str, prebuilt: str) -> None:
        """Start the process; it does not touch the device before ``run``."""
        self._path = path
        self._file = out / f"{number_of(path):03}.json"
        self._log = self._file.with_suffix(".log")
        command = [sys.executable, str(HERE / "kernelbench_part.py")]
        with self._log.open("wb") as sink:
            self._process = subprocess.Popen(
                [*command, str(path), str(out), mode, prebuilt],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                cwd=HERE.parents[1],
                start_new_session=True,
            )

    def run(self, seconds: float) -> None:
        """Let it have the device for so many seconds; a part that fails writes down why."""
        self._file.unlink(missing_ok=True)
        try:
            self._process.communicate(f"{seconds}\n".encode(), timeout=seconds + GRACE_S)
            reason = f"the process ended with status {self._process.returncode}"
        except subprocess.TimeoutExpired:
            reason = f"cut off after {seconds:.0f} s; start the script again to go on"
            self.end()
        if not self._file.exists():
            tail = self._log.read_text(encoding="utf-8", errors="replace")[-4000:]
            record = {"part": self._path.stem, "done": False, "error": f"{tail}\n{reason}"}
            self._file.write_text(json.dumps(record, indent=1) + "\n", "utf-8")

    def end(self) -> None:
        """End the process and what it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def number_of(path: Path) -> int:
    """The task's number."""
    return int(path.stem.split("_")[0])


def build_only(files: dict[int, Path], folder: Path, whole: bool) -> int:
    """Build without a GPU; the number of designs that nvcc refuses or spills in."""
    bad = 0
    for number, path in files.items():
        spec = KernelSpec.from_kernelbench(path)
        sources = ladder(spec)
        for result in prebuild(spec, sources if whole else sources[-1:], folder):
            spills = sum(kernel.spill_store_bytes for kernel in result.resources)
            registers = max((kernel.registers for kernel in result.resources), default=0)
            said = result.diagnostics[0].message if result.diagnostics else result.advice
            sys.stdout.write(
                f"{number:3} {result.status} {registers} registers, {spills} bytes spilled, "
                f"{result.seconds:.0f} s {said}\n"
            )
            sys.stdout.flush()
            bad += bool(spills) or not result.library
    return bad


def main() -> int:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="19-32", help="numbers and ranges: 1-18,23")
    parser.add_argument("--out", type=Path, help="folder of the JSON files")
    parser.add_argument("--budget-s", type=float, default=570.0, help="seconds for everything")
    parser.add_argument("--task-s", type=float, default=0.0, help="seconds per task at most")
    parser.add_argument("--check", action="store_true", help="the ladders, without the graph")
    parser.add_argument("--build-only", type=Path, help="build into this folder; needs no GPU")
    parser.add_argument("--ladder", action="store_true", help="build every design on the way")
    parser.add_argument("--prebuilt", type=Path, help="folder that --build-only filled")
    options = parser.parse_args()
    files = task_files(options.tasks)
    if options.build_only:
        return min(1, build_only(files, options.build_only, options.ladder))
    if options.out is None:
        parser.error("--out names the folder of the results")
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    mode = "check" if options.check else "run"
    prebuilt = str(options.prebuilt.resolve()) if options.prebuilt else ""
    end = time.monotonic() + options.budget_s
    missing = [path for number, path in files.items() if not read(out, number).get("done")]
    waiting = [Part(path, out, mode, prebuilt) for path in missing[:1]]
    for position, path in enumerate(missing):
        part = waiting.pop()
        left = end - time.monotonic()
        if left < LEAST_S[mode] + GRACE_S:
            part.end()
            sys.stdout.write("no budget is left; start the script again to go on\n")
            break
        waiting += [Part(after, out, mode, prebuilt) for after in missing[position + 1 :][:1]]
        share = left if mode == "check" else left / (len(missing) - position)
        seconds = max(LEAST_S[mode], share - GRACE_S)
        part.run(min(options.task_s, left - GRACE_S) if options.task_s else seconds)
        record = read(out, number_of(path))
        sys.stdout.write(f"{path.stem} {record.get('seconds', '')} s {record.get('speedup')}\n")
        sys.stdout.flush()
    records = [read(out, number) for number in files]
    sys.stdout.write(summary([record for record in records if "task" in record]) + "\n")
    for record in records:
        if record and not record["done"]:
            sys.stdout.write(f"\n{record['part']}:\n{record['error']}\n")
    return 0 if all(record.get("done") for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
