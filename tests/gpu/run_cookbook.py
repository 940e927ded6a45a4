"""Verifies and times every kernel of the cookbook on this machine's GPU.

    python tests/gpu/run_cookbook.py --out DIR [--budget-s 400] [--only NAME …]

``cookbook.json`` in DIR appears with the first kernel and grows with each: verdict, raw samples
of kernel and PyTorch, share of the roofline. Started again with the same DIR, it does what is
missing or was not verified.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "prompts"))

from cookbook_specs import COOKBOOK, ENTRIES  # noqa: E402 - its folder is known only now

from cutegen.execution import resolve_executor  # noqa: E402
from cutegen.execution.bench import architecture  # noqa: E402
from cutegen.execution.protocol import EvaluationJob, MeasurementJob  # noqa: E402
from cutegen.measurement.timing import Measurement  # noqa: E402
from cutegen.spec import KernelSpec  # noqa: E402

BUILDERS = 8  # compilers at work before the GPU is
LEAST_S = 20.0


def commit() -> str:
    """The commit that is measured; the lent machine has no repository."""
    known = os.environ.get("CUTEGEN_COMMIT")
    if known:
        return known
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def machine() -> dict[str, Any]:
    """What the results depend on besides the commit."""
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False)
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    smi = subprocess.run(query, capture_output=True, text=True, check=False)
    return {
        "gpu": smi.stdout.strip(),
        "arch": architecture(0),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nvcc": nvcc.stdout.strip().split("\n")[-1],
        "commit": commit(),
    }


def judge(name: str, spec: KernelSpec) -> dict[str, Any]:
    """Verdict and measurement of one kernel."""
    executor = resolve_executor("cuda")
    source = (COOKBOOK / f"{name}.cu").read_text(encoding="utf-8")
    began = time.monotonic()
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=source))
    record: dict[str, Any] = {"verdict": verdict.model_dump(mode="json"), "measurement": None}
    if verdict.passed:
        measurement = executor.measure(MeasurementJob(spec=spec, source=source))
        record["measurement"] = measurement.model_dump(mode="json")
    return record | {"digest": digest(source), "seconds": round(time.monotonic() - began, 1)}


def digest(source: str) -> str:
    """What tells whether a recipe is the one that was judged."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def is_judged(name: str, record: dict[str, Any] | None) -> bool:
    """Whether a recipe, as it is now, has passed."""
    source = (COOKBOOK / f"{name}.cu").read_text(encoding="utf-8")
    return (
        record is not None
        and record["verdict"]["status"] == "PASSED"
        and record.get("digest") == digest(source)
    )


def line(name: str, record: dict[str, Any]) -> str:
    """One kernel in one line."""
    verdict = record["verdict"]
    words = [f"{name:24}", f"{verdict['status']:14}"]
    measured = Measurement.model_validate(record["measurement"]) if record["measurement"] else None
    if measured is not None and measured.candidate is not None:
        fraction = measured.roofline.fraction if measured.roofline else 0.0
        words.append(f"{measured.candidate.median_us:10.1f} µs")
        words.append(f"{measured.speedup or 0.0:6.2f}x")
        words.append(f"{fraction:5.0%} of the roof")
    else:
        reason = measured.reason if measured is not None else verdict["evidence"]["summary"]
        words.append(reason[:160])
    return "  ".join(words)


def main() -> int:
    """Judge what is missing, within the budget; then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of cookbook.json")
    parser.add_argument("--budget-s", type=float, default=400.0, help="seconds for everything")
    parser.add_argument("--only", nargs="*", default=list(ENTRIES), help="kernels to judge")
    options = parser.parse_args()
    end = time.monotonic() + options.budget_s
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "cookbook.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    kernels: dict[str, Any] = kept.get("kernels", {})
    missing = [name for name in options.only if not is_judged(name, kernels.get(name))]
    specs = {name: ENTRIES[name].spec(name, small=False) for name in missing}
    executor = resolve_executor("cuda")
    with concurrent.futures.ThreadPoolExecutor(BUILDERS) as builders:  # builds are cached
        sources = [(COOKBOOK / f"{name}.cu").read_text(encoding="utf-8") for name in missing]
        list(builders.map(executor.build, specs.values(), sources))
    for name in missing:
        if end - time.monotonic() < LEAST_S:
            sys.stdout.write(f"{name:24}  no budget was left; start the script again\n")
            continue
        kernels[name] = judge(name, specs[name])
        record = {"machine": machine(), "kernels": kernels}
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(line(name, kernels[name]) + "\n")
        sys.stdout.flush()
    good = sum(is_judged(name, kernels.get(name)) for name in ENTRIES)
    sys.stdout.write(f"{good} of {len(ENTRIES)} kernels verified\n")
    return 0 if good == len(ENTRIES) else 1


if __name__ == "__main__":
    sys.exit(main())
