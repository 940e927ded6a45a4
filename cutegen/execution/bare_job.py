"""What ``bare_launch.py`` is told: one case of a candidate, for a tool that watches its launch."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

import cutegen
from cutegen.kernel import args_structure, fill_args
from cutegen.spec import Case, KernelSpec
from cutegen.verification.poison import raw

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from cutegen.execution.bare_launch import main; main(sys.argv[1])"
)
_FILE_SIZE_LIMIT = 64 << 20


def bare_command(job: Path) -> tuple[str, ...]:
    """The command line that launches a job, to be put after the tool's own."""
    root = str(Path(cutegen.__file__).resolve().parents[1])
    return (sys.executable, "-I", "-S", "-c", _BOOT, str(job), root)


def write_job(
    folder: Path,
    spec: KernelSpec,
    case: Case,
    inputs: Mapping[str, Tensor],
    places: Mapping[str, str | int],
    *,
    most_bytes: int | None = None,
) -> Path:
    """Write the files that ``bare_launch.py`` reads; returns the path of the JSON.

    Args:
        folder: Where they go.
        spec: The contract.
        case: The shapes.
        inputs: Inputs, parameters and buffers by name.
        places: ``library``, ``cudart`` and ``device``; ``warm_ups`` where a profiler is to see
            one call only, after so many.
        most_bytes: A floating tensor beyond that is written in part, and repeats it.
    """
    structure = args_structure(spec)
    offset = {name: getattr(structure, name).offset for name, *_ in structure._fields_}
    tensors: list[dict[str, object]] = []
    for tensor in case.tensors:
        file = "" if tensor.role == "output" else f"{len(tensors)}.bin"
        if file:
            values = inputs[tensor.name].reshape(-1)
            if most_bytes is not None and tensor.dtype.is_floating:
                values = values[: most_bytes // values.element_size()]
            (folder / file).write_bytes(raw(values.cpu()).numpy().tobytes())
        tensors.append({"offset": offset[tensor.name], "nbytes": tensor.nbytes, "file": file})
    pointers = {tensor.name: 0 for tensor in case.tensors}
    path = folder / "job.json"
    path.write_text(
        json.dumps(
            {
                "arguments": bytes(fill_args(spec, case, pointers)).hex(),
                "tensors": tensors,
                **places,
                "parent": 0,
                "limits": {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": _FILE_SIZE_LIMIT},
                **{name: offset[name] for name in ("stream", "workspace", "workspace_bytes")},
            }
        ),
        encoding="utf-8",
    )
    return path
