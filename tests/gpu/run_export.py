"""Ships kernels and uses them as their users would: in a compiled model, a CUDA graph, KernelBench.

    python tests/gpu/run_export.py --out DIR [--peer FOLDER] [--budget-s 300]

FOLDER is a checkout of KernelBench (github.com/ScalingIntelligence/KernelBench), whose own
evaluation then judges the exported ModelNew. DIR/export.json holds what was seen.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from cutegen import Budget, KernelSpec, run_graph
from cutegen.export import Form, export, shipment_of
from cutegen.result import RunResult

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "kernelbench" / "level1" / "25_Swish.py"
ROWS, COLUMNS = 4096, 4096


class Net(torch.nn.Module):
    """A model around one activation."""

    def __init__(self, activation: torch.nn.Module) -> None:
        super().__init__()
        self.before = torch.nn.Linear(COLUMNS, COLUMNS)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(self.before(x)) + 1.0


def in_a_model(kernel: Any) -> dict[str, Any]:
    """The shipped module inside ``torch.compile`` and inside a CUDA graph, against eager."""
    torch.manual_seed(0)
    eager = Net(kernel.reference).cuda()
    shipped = Net(kernel.module()).cuda()
    shipped.load_state_dict(eager.state_dict())
    compiled = torch.compile(shipped, fullgraph=True)
    with torch.no_grad():
        x = torch.randn(ROWS, COLUMNS, device="cuda")
        want = eager(x)
        found = {"compile_max_difference": (compiled(x) - want).abs().max().item()}
        other = torch.randn(ROWS // 2 + 1, COLUMNS, device="cuda")
        found["other_shape_max_difference"] = (compiled(other) - eager(other)).abs().max().item()
        static = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            kernel(static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = kernel(static)
        static.copy_(torch.randn_like(static))
        graph.replay()
        found["graph_max_difference"] = (out - kernel.reference(static)).abs().max().item()
    torch.library.opcheck(kernel.op, (torch.randn(64, 100, device="cuda"),))
    kernel.on_unsupported = "fallback"
    half = torch.randn(8, 8, device="cuda").half()
    found["fallback_max_difference"] = (kernel(half) - kernel.reference(half)).abs().max().item()
    limits = {"compile_max_difference": 1e-5, "other_shape_max_difference": 1e-5}
    found["passed"] = all(
        value <= limits.get(name, 1e-6) for name, value in found.items() if isinstance(value, float)
    )
    return found


def in_kernelbench(file: Path, peer: Path, limit_s: float) -> dict[str, Any]:
    """KernelBench's own evaluation of the file, unchanged."""
    with tempfile.TemporaryDirectory() as build:
        command = [sys.executable, HERE / "side_by_side_peer.py", peer, REFERENCE, file, build]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            return {"passed": False, "log": f"cut off after {limit_s:.0f} s"}
    last = (done.stdout.strip().splitlines() or ["{}"])[-1]
    log = (done.stdout + done.stderr)[-3000:]
    try:
        answer = json.loads(last)
    except json.JSONDecodeError:
        return {"passed": False, "log": log}
    return {**answer, "passed": bool(answer.get("correct")), "log": log}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of export.json")
    parser.add_argument("--peer", type=Path, help="a checkout of KernelBench")
    parser.add_argument("--budget-s", type=float, default=300.0, help="seconds for everything")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp())
    result: RunResult = run_graph(
        KernelSpec.from_kernelbench(REFERENCE),
        executor="cuda",
        budget=Budget(steps=2, wall_s=options.budget_s / 2),
        runs_dir=scratch / "runs",
    )
    shipment = shipment_of(result)
    package = export(shipment, scratch / "torch", Form.TORCH)
    sys.path.insert(0, str(package.parent))
    found: dict[str, Any] = {
        "environment": result.environment,
        "reference": REFERENCE.name,
        "speedup": result.best.speedup if result.best else None,
        "model": in_a_model(importlib.import_module(package.name).kernel),
    }
    file = out / "export.json"
    file.write_text(json.dumps(found, indent=1) + "\n")
    if options.peer is not None:
        torch.cuda.empty_cache()
        model_new = export(shipment, scratch / "bench", Form.KERNELBENCH)
        left = max(30.0, options.budget_s - (time.monotonic() - began))
        found["kernelbench"] = in_kernelbench(model_new, options.peer.resolve(), left)
        file.write_text(json.dumps(found, indent=1) + "\n")
    shown = {name: found[name] for name in ("speedup", "model", "kernelbench") if name in found}
    sys.stdout.write(json.dumps(shown, indent=1) + "\n")
    parts = [found[name] for name in ("model", "kernelbench") if name in found]
    return 0 if all(part["passed"] for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
