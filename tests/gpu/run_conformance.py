"""Runs every conformance case and mutant on this machine's GPU and on the emulator.

    python tests/gpu/run_conformance.py --out DIR [--budget-s 540] [--jobs 16]

DIR/conformance.json then holds, per case, both outcomes against the exact answer (the error in
units of what is allowed) and against each other, and per mutant what the emulator and the GPU
said of it; each with the hash of its source, device, driver, versions and commit. Started again
with the same DIR it keeps what was done on the same sources, and does the rest. With --only it
asks for those named and leaves every other record as it is; each new record then has the facts
of its own run beside it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from conformance.case import KernelCase, wide  # noqa: E402 - the line above finds it
from conformance.cases import CASES  # noqa: E402
from conformance.library import emulated, number  # noqa: E402
from conformance.mutant import Mutant  # noqa: E402
from conformance.mutants import MUTANTS  # noqa: E402
from conformance.running import (  # noqa: E402
    Outcome,
    build,
    differing,
    distance,
    run,
)
from conformance.units import Block, source_hash  # noqa: E402

from cutegen.measurement.environment import driver_version, git_commit  # noqa: E402
from cutegen.status import Status  # noqa: E402
from cutegen.toolchain.nvcc import NvccToolchain  # noqa: E402
from cutegen.toolchain.protocol import BuildResult  # noqa: E402

HANG_S = 10.0  # a launch of these sizes takes milliseconds
LAUNCHES = ("hardware",) * 3  # one may be right by luck
GPU_AT_A_TIME = 4
UNLIKE_PER_ROW = 4  # a row may be a class of inputs of its own
Record = dict[str, Any]


def told(outcome: Outcome) -> Record:
    """An outcome as JSON; an infinite error is null."""
    error = float(outcome.error)
    return {
        "status": outcome.status.value,
        "error": error if np.isfinite(error) else None,
        "summary": outcome.summary[:400],
    }


def compared(case: KernelCase, gpu: Outcome, emulator: Outcome) -> Record:
    """Both outcomes, and how far the outputs are from each other."""
    record: Record = {
        "technique": case.technique,
        "bitwise": case.bound.bitwise,
        "gpu": told(gpu),
        "emulator": told(emulator),
        "agree": False,
    }
    if gpu.output is not None and emulator.output is not None:
        a, b, _ = case.answers()
        apart = distance(case, wide(gpu.output), wide(emulator.output), a, b)
        different = differing(gpu.output, emulator.output)
        record["different_elements"] = different
        record["elements"] = gpu.output.numel()
        record["apart"] = apart if np.isfinite(apart) else None
        both = gpu.status is Status.PASSED and emulator.status is Status.PASSED
        record["agree"] = both and (different == 0 if case.bound.bitwise else apart <= 1)
        if case.bound.bitwise and different:
            record["unlike"] = unlike(gpu.output, emulator.output)
    return record


def unlike(gpu: torch.Tensor, emulator: torch.Tensor) -> list[list[float]]:
    """[row, column, the GPU's value, the emulator's] of the first few elements of every row."""
    rows: list[list[float]] = []
    for row, (mine, other) in enumerate(zip(gpu, emulator, strict=True)):
        columns = [c for c in range(mine.numel()) if differing(mine[c : c + 1], other[c : c + 1])]
        rows += [[row, c, mine[c].item(), other[c].item()] for c in columns[:UNLIKE_PER_ROW]]
    return rows


class Builds:
    """One library per kernel from nvcc, all at the same time; one per unit from the emulator."""

    def __init__(self, jobs: int, kernels: Sequence[Block]) -> None:
        """Start all builds."""
        self._pool = ThreadPoolExecutor(jobs)
        units = dict.fromkeys(kernel.unit for kernel in kernels)
        self._emulated = {unit: self._pool.submit(emulated, unit) for unit in units}
        nvcc = NvccToolchain()
        self._gpu = {
            kernel: self._pool.submit(build, nvcc, [kernel]) for kernel in dict.fromkeys(kernels)
        }

    def gpu(self, kernel: Block) -> BuildResult:
        """Waits for it."""
        return self._gpu[kernel].result()

    def emulated(self, kernel: Block) -> tuple[BuildResult, int]:
        """The emulator's library, and the kernel's number in it."""
        return self._emulated[kernel.unit].result(), number(kernel)


def on_gpu(case: KernelCase, built: BuildResult, timeout_s: float) -> Outcome:
    """One process, a few launches."""
    return run(case, built, 0, cuda=True, timeout_s=timeout_s, schedules=LAUNCHES)


def do_case(builds: Builds, case: KernelCase) -> Record:
    """A case on both machines."""
    emulator = run(case, *builds.emulated(case.block))
    return compared(case, on_gpu(case, builds.gpu(case.block), 60.0), emulator)


def do_mutant(builds: Builds, mutant: Mutant) -> Record:
    """A mutant on both machines; the GPU may hang, and is given up then."""
    emulator = run(mutant.case, *builds.emulated(mutant.block))
    gpu = on_gpu(mutant.case, builds.gpu(mutant.block), HANG_S)
    return {
        "of": mutant.case.name,
        "fault": mutant.fault,
        "expected": mutant.expected.value,
        "emulator": told(emulator),
        "caught": emulator.status is mutant.expected,
        "gpu": told(gpu) | {"answer": answer(gpu)},
    }


def answer(gpu: Outcome) -> str:
    """What a GPU's user would see."""
    if gpu.ended:
        return "hangs" if gpu.status is Status.TIMEOUT else "error"
    answers = {
        Status.PASSED: "right by luck",
        Status.WRONG_VALUES: "wrong",
        Status.RACE: "wrong, differently each time",
        Status.OUT_OF_BOUNDS: "writes beyond its tensors",
    }
    return answers.get(gpu.status, "error")


def facts() -> Record:
    """What the figures cannot be compared without."""
    return {
        "gpu": torch.cuda.get_device_name(0),
        "driver": driver_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "commit": os.environ.get("CUTEGEN_COMMIT") or git_commit(),
    }


def remaining(kept: Record, hashes: dict[str, str], only: Sequence[str]) -> Record:
    """The records that stay: settled answers to today's sources, and all that nobody asked for.

    Args:
        kept: By name, what an earlier run wrote.
        hashes: By name, the hash of today's source.
        only: Names that are asked for; none means all.
    """
    return {
        name: record
        for name, record in kept.items()
        if (only and name not in only) or (hashes.get(name) == record["hash"] and settled(record))
    }


def main() -> int:
    """Do what is missing, write after every answer, print what does not agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of conformance.json")
    parser.add_argument("--budget-s", type=float, default=540.0, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="builds at a time")
    parser.add_argument("--only", nargs="*", default=[], help="names of cases and mutants")
    options = parser.parse_args()
    end = time.monotonic() + options.budget_s
    path: Path = options.out.resolve() / "conformance.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found: Record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kinds: dict[str, tuple[Sequence[Any], Callable[[Builds, Any], Record]]] = {
        "cases": (CASES, do_case),
        "mutants": (MUTANTS, do_mutant),
    }
    todo: list[tuple[str, Any]] = []
    for kind, (items, _) in kinds.items():
        hashes = {item.name: source_hash(item.block) for item in items}
        found[kind] = remaining(found.get(kind, {}), hashes, options.only)
        todo += [
            (kind, item)
            for item in items
            if item.name not in found[kind] and (not options.only or item.name in options.only)
        ]
    added: Record = {"facts": facts()} if options.only and "facts" in found else {}
    found |= {} if added else {"facts": facts()}
    builds = Builds(options.jobs, [item.block for _, item in todo])
    pool = ThreadPoolExecutor(GPU_AT_A_TIME)

    def work(kind: str, item: Any) -> None:
        if time.monotonic() > end:
            return
        began = time.monotonic()
        try:
            record = kinds[kind][1](builds, item)
        except Exception as error:  # noqa: BLE001 - one item's fault must not cost the others
            record = {"error": f"{type(error).__name__}: {error}"}
        record |= {"hash": source_hash(item.block), "seconds": round(time.monotonic() - began, 1)}
        found[kind][item.name] = record | added

    futures = [pool.submit(work, kind, item) for kind, item in todo]
    while not all(future.done() for future in futures) and time.monotonic() < end:
        time.sleep(2)
        write(path, found)
    write(path, found)
    show(found, len(CASES), len(MUTANTS))
    sys.stdout.flush()
    os._exit(0)  # builds that are still running are of no use any more


def settled(record: Record) -> bool:
    """Whether there is no need to do it again."""
    return "error" not in record and bool(record.get("agree", record.get("caught")))


def write(path: Path, found: Record) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(".partial")
    snapshot = {key: dict(sorted(value.items())) for key, value in list(found.items())}
    draft.write_text(json.dumps(snapshot, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def show(found: Record, cases: int, mutants: int) -> None:
    """A line per disagreement, and the counts."""
    for kind in ("cases", "mutants"):
        for name, record in found[kind].items():
            if not settled(record):
                said = record.get("error") or "; ".join(
                    f"{who} {record[who]['status']} {record[who]['summary'][:160]}"
                    for who in ("gpu", "emulator")
                )
                sys.stdout.write(f"{name}: {said}\n")
    agreed = sum(bool(record.get("agree")) for record in found["cases"].values())
    caught = sum(bool(record.get("caught")) for record in found["mutants"].values())
    sys.stdout.write(
        f"{agreed} of {cases} cases agree, {caught} of {mutants} mutants are caught as expected\n"
    )


if __name__ == "__main__":
    sys.exit(main())
