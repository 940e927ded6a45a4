"""Runs that a person, or a coding agent, drove as the model; kept as recordings.

``recordings/NAME.json`` says what was run (``spec``, a KernelBench-format file relative to
``tests/``, and what else differs from ``OPTIONS``), ``recordings/NAME.jsonl`` what was answered.

    python tests/graphs/recorded_runs.py NAME …

records a run anew when the prompts have changed: the old replies to the new prompts.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from cutegen.agents.models.replay import RecordedCall, write_recording
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget
from cutegen.result import RunResult
from cutegen.spec import KernelSpec

FOLDER = Path(__file__).resolve().parent / "recordings"
TESTS = Path(__file__).resolve().parents[1]
NAMES = sorted(file.stem for file in FOLDER.glob("*.json"))
OPTIONS: dict[str, Any] = {
    "math": "fp32",
    "seed": 0,
    "arch": "sm_90a",
    "nvcc_gate": True,
    "budget": {},
}


def play(name: str, runs_dir: Path, recording: Path, record: Path | None = None) -> RunResult:
    """Run what a recording was made of, with its replies, on the emulator."""
    told = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    chosen = OPTIONS | told
    spec = KernelSpec.from_kernelbench(
        TESTS / chosen["spec"], math_mode=chosen["math"], seed=chosen["seed"]
    )
    return run_graph(
        spec,
        model=f"replay:{recording}",
        executor="emulated",
        seed=chosen["seed"],
        arch=chosen["arch"],
        nvcc_gate=chosen["nvcc_gate"],
        budget=Budget(**chosen["budget"]),
        runs_dir=runs_dir,
        run_id=name,
        record=record,
    )


def refresh(name: str) -> RunResult:
    """Record a run anew, whatever its prompts were."""
    file = FOLDER / f"{name}.jsonl"
    lines = file.read_text(encoding="utf-8").split("\n")
    calls = [RecordedCall.model_validate_json(line) for line in lines if line]
    with tempfile.TemporaryDirectory() as folder:
        lenient = Path(folder) / "lenient.jsonl"
        write_recording(lenient, [call.model_copy(update={"prompt": None}) for call in calls])
        return play(name, Path(folder), lenient, record=file)


if __name__ == "__main__":
    for chosen_name in sys.argv[1:] or NAMES:
        result = refresh(chosen_name)
        sys.stdout.write(f"{chosen_name}: {result.status.value} {result.reason}\n")
