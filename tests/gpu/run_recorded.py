"""Takes the recorded runs, in which a person was the model, to this machine's GPU.

    python tests/gpu/run_recorded.py --out DIR [--budget-s 300]

Each is replayed on the emulator first, prompt by prompt, and then taken up on the GPU, which
verifies and times every kernel of its lineage. DIR/recorded.json grows with each run; started
again, the script does what is missing.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "graphs"))

from recorded_runs import FOLDER, NAMES, play  # noqa: E402 - its folder is known only now

from cutegen.graphs.resuming import resume_run  # noqa: E402
from cutegen.measurement.environment import git_commit  # noqa: E402

LEAST_S = 60.0


def measured(name: str) -> dict[str, Any]:
    """What the GPU says of one run's lineage."""
    with tempfile.TemporaryDirectory() as folder:
        recording = FOLDER / f"{name}.jsonl"
        emulated = play(name, Path(folder), recording)
        result = resume_run(emulated.run_dir, executor="cuda", model=f"replay:{recording}")
        best = result.best
        return {
            "emulated": emulated.status.value,
            "status": result.status.value,
            "reason": result.reason,
            "environment": result.environment,
            "speedup": best.speedup if best else None,
            "roofline_fraction": best.roofline_fraction if best else None,
            "timing": best.timing.model_dump(mode="json") if best and best.timing else None,
            "steps": [
                step.model_dump(mode="json", exclude={"fingerprint"}) for step in result.steps
            ],
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded.json")
    parser.add_argument("--budget-s", type=float, default=300.0, help="seconds for everything")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    file = out / "recorded.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": {}}
    found["commit"] = os.environ.get("CUTEGEN_COMMIT") or git_commit()
    end = time.monotonic() + options.budget_s
    for name in NAMES:
        if name in found["runs"] or end - time.monotonic() < LEAST_S:
            continue
        found["runs"][name] = measured(name)
        file.write_text(json.dumps(found, indent=1) + "\n")
        told = found["runs"][name]
        sys.stdout.write(f"{name}: {told['status']} {told['reason']}\n")
        for step in told["steps"]:
            sys.stdout.write(
                f"  {step['index']} {step['decision']}: {step['time_us']} us, "
                f"{step['speedup']}x; {step['intent'][:80]} {step['reason'][:100]}\n"
            )
    return 0 if len(found["runs"]) == len(NAMES) else 1


if __name__ == "__main__":
    sys.exit(main())
