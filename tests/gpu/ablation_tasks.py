"""The specs of the ablation: eight files of tests/kernelbench at shapes that take little time.

What is compared are ways to search, run for run on the same machine, and kernels of a few dozen
microseconds tell designs apart as well as those of milliseconds.
"""

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import torch

from cutegen.agents.models.playbook.library import playbook_for
from cutegen.spec import KernelSpec

KERNELBENCH = Path(__file__).resolve().parents[1] / "kernelbench"


class Task(NamedTuple):
    """A KernelBench-format file, and the shapes and type of its inputs here."""

    file: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype = torch.float32
    math: str = "fp32"
    arguments: tuple[Any, ...] | None = None  # of the constructor, where the file's depend on sizes


TASKS = {
    "relu": Task("level1/19_ReLU.py", ((4096, 4096),)),
    "gelu": Task("level1/26_GELU_.py", ((4096, 4096),)),
    "mish_by_hand": Task("custom/mish_by_hand.py", ((4096, 4096),)),
    "bias_scale": Task("custom/bias_scale.py", ((4096, 4096),), arguments=(4096, 0.1)),
    "softmax": Task("level1/23_Softmax.py", ((4096, 4096),)),
    "rms_norm": Task("custom/rms_norm.py", ((4096, 4096),), arguments=(4096,)),
    "matmul": Task("level1/1_Square_matrix_multiplication_.py", ((1024, 1024), (1024, 1024))),
    "half_matmul": Task(
        "custom/half_matmul.py", ((2048, 2048), (2048, 2048)), torch.float16, "fp16"
    ),
}
OTHERS = {
    "matmul_2048": Task("level1/1_Square_matrix_multiplication_.py", ((2048, 2048), (2048, 2048))),
    "softmax_of_few_rows": Task("level1/23_Softmax.py", ((8, 262144),)),
}


def spec_of(name: str) -> KernelSpec:
    """The spec of a task at its shapes."""
    task = (TASKS | OTHERS)[name]
    path = KERNELBENCH / task.file
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    initial = getattr(module, "get_init_inputs", list)()
    torch.manual_seed(0)
    model = module.Model(*(initial if task.arguments is None else task.arguments))
    inputs = [torch.randn(shape, dtype=task.dtype) for shape in task.shapes]
    return KernelSpec.from_module(model, inputs, name=name, math_mode=task.math)


def designs_of(spec: KernelSpec, most: int = 24) -> list[str]:
    """Sources that the playbook may write for a spec, the likeliest first; at most so many.

    First those of a run in which every structural move is accepted, and the numbers that it then
    tries; then those after other orders of accepted and rejected moves.
    """
    playbook: Any = playbook_for(spec)
    climbed = list(playbook.climb())
    found = dict.fromkeys(map(playbook.render, climbed))
    found |= dict.fromkeys(
        playbook.render(climbed[-1].after(move)) for move in climbed[-1].tuning_moves()
    )
    queue, seen = climbed[:1], set[str]()
    while queue and len(found) < most:
        design = queue.pop(0)
        source = playbook.render(design)
        if source not in seen:
            seen.add(source)
            found[source] = None
            queue += [design.after(move) for move in design.structural_moves()]
    return list(found)[:most]
