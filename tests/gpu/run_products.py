"""Verifies and times designs of the playbook for the matrix products of KernelBench on this GPU.

    python tests/gpu/run_products.py --out DIR [--budget-s 300] [--tasks 1 7 …] [--ladder 1]

For every task the design at the top of its ladder; for those of ``--ladder`` every design on the
way, too. ``products.json`` in DIR appears with the first design and grows with each: verdict, raw
samples of kernel and PyTorch, share of the roofline. Started again with the same DIR, it does
what is missing.
"""

import argparse
import concurrent.futures
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves it out

from run_cookbook import line, machine

from cutegen.agents.models.playbook.library import playbook_for
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.spec import KernelSpec

LEVEL_1 = Path(__file__).resolve().parents[1] / "kernelbench" / "level1"
TASKS = (1, 14, 7, 11, 3, 6, 8, 16, 10, 17, 18, 2, 9, 13, 15, 12, 5, 4)
SQUARES = (4096, 8192)  # extents of the half-precision products that follow the tasks
BUILDERS = 12  # compilers at work before the GPU is
LEAST_S = 25.0


class Item(NamedTuple):
    """One design of one task."""

    name: str
    spec: KernelSpec
    source: str


def specs(tasks: list[int]) -> Iterator[tuple[str, KernelSpec]]:
    """Task 100 + i is the i-th square product of bf16 matrices."""
    for task in tasks:
        if task < 100:
            (file,) = LEVEL_1.glob(f"{task}_*.py")
            yield str(task), KernelSpec.from_kernelbench(file)
        else:
            extent = SQUARES[task - 100]
            factors = [torch.empty(extent, extent, dtype=torch.bfloat16) for _ in range(2)]
            name = f"bf16_{extent}"
            yield name, KernelSpec.from_callable(torch.matmul, factors, name=name, math_mode="bf16")


def items(tasks: list[int], whole: list[int]) -> Iterator[Item]:
    """The designs to judge, the most telling first."""
    for name, spec in specs(tasks):
        playbook = playbook_for(spec)
        designs = list(playbook.climb())
        wanted = designs if name in map(str, whole) else designs[-1:]
        for design in reversed(wanted):
            level = designs.index(design)
            yield Item(f"{name}/{level}", spec, playbook.render(design))


def judge(item: Item) -> dict[str, Any]:
    """Verdict and measurement of one design."""
    executor = resolve_executor("cuda")
    began = time.monotonic()
    verdict = executor.evaluate(EvaluationJob(spec=item.spec, source=item.source))
    record: dict[str, Any] = {"verdict": verdict.model_dump(mode="json"), "measurement": None}
    if verdict.passed:
        measurement = executor.measure(MeasurementJob(spec=item.spec, source=item.source))
        record["measurement"] = measurement.model_dump(mode="json")
    tag = item.source.partition("// playbook: ")[2].partition("\n")[0]
    return record | {"design": tag, "seconds": round(time.monotonic() - began, 1)}


def main() -> int:
    """Judge what is missing, within the budget; then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of products.json")
    parser.add_argument("--budget-s", type=float, default=300.0, help="seconds for everything")
    parser.add_argument("--tasks", nargs="*", type=int, default=[*TASKS, 100, 101])
    parser.add_argument("--ladder", nargs="*", type=int, default=[], help="tasks of every design")
    options = parser.parse_args()
    end = time.monotonic() + options.budget_s
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "products.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    designs: dict[str, Any] = kept.get("designs", {})
    missing = [item for item in items(options.tasks, options.ladder) if item.name not in designs]
    executor = resolve_executor("cuda")
    with concurrent.futures.ThreadPoolExecutor(BUILDERS) as builders:  # builds are cached
        futures = {i.name: builders.submit(executor.build, i.spec, i.source) for i in missing}
        for item in missing:
            if end - time.monotonic() < LEAST_S:
                sys.stdout.write(f"{item.name:24}  no budget was left; start the script again\n")
                futures[item.name].cancel()
                continue
            futures[item.name].result()
            designs[item.name] = judge(item)
            record = {"part": "products", "machine": machine(), "designs": designs}
            file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            sys.stdout.write(line(item.name, designs[item.name]) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
