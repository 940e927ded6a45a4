"""KernelBench's own evaluation of one kernel.

    python side_by_side_peer.py REPOSITORY REFERENCE KERNEL BUILD

It prints one JSON object. Settings are those of KernelBench's ``scripts/run_and_check.py``: five
correctness trials, a hundred timed ones, the reference timed beside. The modules that talk to
language models are not installed on a GPU machine and evaluation never calls them, so names that
can be imported stand in for them.
"""

import json
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

UNUSED = {"dotenv": "load_dotenv", "openai": "OpenAI", "litellm": "completion", "tqdm": "tqdm"}


def unused(*_: object, **__: object) -> None:
    """Evaluation never gets here, but for ``load_dotenv``, which has nothing to load."""


def main(repository: str, reference: str, kernel: str, build: str) -> None:
    for name, attribute in UNUSED.items():
        module = ModuleType(name)
        setattr(module, attribute, unused)
        module.__spec__ = ModuleSpec(name, None)  # torch asks for it before it imports
        sys.modules[name] = module
    sys.path.insert(0, str(Path(repository) / "src"))
    began = time.monotonic()
    import torch  # noqa: PLC0415 - its import is part of the time
    from kernelbench import utils  # noqa: PLC0415
    from kernelbench.eval import eval_kernel_against_ref  # noqa: PLC0415

    imported = time.monotonic()
    utils.set_gpu_arch(["Hopper"])
    result = eval_kernel_against_ref(
        original_model_src=Path(reference).read_text(encoding="utf-8"),
        custom_model_src=Path(kernel).read_text(encoding="utf-8"),
        num_correct_trials=5,
        num_perf_trials=100,
        measure_performance=True,
        build_dir=build,
        device=torch.device("cuda:0"),
        backend="cuda",
        precision=torch.float32,
    )
    found = {
        "compiled": bool(result and result.compiled),
        "correct": bool(result and result.correctness),
        "runtime_ms": result.runtime if result else -1.0,
        "reference_ms": result.ref_runtime if result else -1.0,
        "metadata": {name: str(value) for name, value in result.metadata.items()} if result else {},
        "import_seconds": round(imported - began, 3),
        "evaluation_seconds": round(time.monotonic() - imported, 3),
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
