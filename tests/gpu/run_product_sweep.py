"""Times variants of the designs for products beside each other, and the kernels they consist of.

    python tests/gpu/run_product_sweep.py --out DIR [--budget-s 120] [--prebuilt DIR] [--tasks 1,7]
    python tests/gpu/run_product_sweep.py --build-only DIR

Tasks 4096 and 8192 are square products of bf16 of that extent. As ``run_row_sweep.py`` a quick
look, not a verdict. DIR/product_sweep.json holds the raw samples.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # PYTHONSAFEPATH leaves it out

from kernelbench_tasks import ARCH, prebuild, task_files  # noqa: E402 - its folder is known only now
from run_row_sweep import show, swept  # noqa: E402

from cutegen.agents.models.playbook.library import playbook_for  # noqa: E402
from cutegen.measurement.environment import git_commit  # noqa: E402
from cutegen.spec import KernelSpec  # noqa: E402

HALF = 1000  # tasks from here on are extents of half-precision squares
FUSED = {"fused": True, "stages": 2}
VARIANTS: Mapping[int, Mapping[str, dict[str, Any]]] = {
    1: {
        "full": {},
        "single": {"cluster": 1},
        "fused": FUSED,
        "fused single": FUSED | {"cluster": 1},
    },
    7: {
        "full": {},
        "one large block": {"block_m": 128, "resident": 1, "stages": 3},
        "large pairs": {"block_m": 128, "resident": 1, "stages": 3, "cluster": 2},
    },
    3: {"full": {}, "fused": FUSED},
    14: {"full": {}, "pairs": {"cluster": 2}, "fused": FUSED | {"cluster": 1}},
    6: {
        "full": {},
        "single": {"cluster": 1},
        "split before": {"fused": False, "stages": 3},
    },
    4096: {
        "full": {},
        "single": {"cluster": 1},
        "square": {"block_n": 128, "stages": 6},
        "wide": {"block_n": 192, "stages": 5},
    },
    8192: {"full": {}, "square": {"block_n": 128, "stages": 6}},
}


def spec_of(task: int) -> KernelSpec:
    """A task of KernelBench, or a square of bf16."""
    if task < HALF:
        return KernelSpec.from_kernelbench(task_files(str(task))[task])
    factors = [torch.empty(task, task, dtype=torch.bfloat16) for _ in range(2)]
    return KernelSpec.from_callable(torch.matmul, factors, name=f"bf16_{task}", math_mode="bf16")


def variants(task: int, spec: KernelSpec) -> dict[str, str]:
    """The sources of all variants, by name."""
    playbook: Any = playbook_for(spec, ARCH)
    full = list(playbook.climb())[-1]
    return {
        name: playbook.render(full.model_copy(update=changes))
        for name, changes in VARIANTS.get(task, {"full": {}}).items()
    }


def main() -> int:
    """Sweep every task that the budget allows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(map(str, VARIANTS)), help="numbers: 1,7")
    parser.add_argument("--out", type=Path, help="folder of product_sweep.json")
    parser.add_argument("--budget-s", type=float, default=120.0, help="seconds for everything")
    parser.add_argument("--build-only", type=Path, help="build into this folder; needs no GPU")
    parser.add_argument("--prebuilt", type=Path, help="folder that --build-only filled")
    options = parser.parse_args()
    tasks = [int(task) for task in options.tasks.split(",")]
    if options.build_only:
        for task in tasks:
            spec = spec_of(task)
            results = prebuild(spec, variants(task, spec).values(), options.build_only)
            sys.stdout.write(f"{task}: {[str(result.status) for result in results]}\n")
        return 0
    end = time.monotonic() + options.budget_s
    record: dict[str, Any] = {"commit": git_commit(), "gpu": torch.cuda.get_device_name()}
    record["tasks"] = {}
    options.out.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if time.monotonic() > end:
            break
        spec = spec_of(task)
        record["tasks"][task] = found = swept(spec, variants(task, spec), options.prebuilt)
        (options.out / "product_sweep.json").write_text(json.dumps(record, indent=1) + "\n")
        show(str(task), found, spec.timed.nbytes)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
