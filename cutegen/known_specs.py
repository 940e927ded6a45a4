"""What was found from a reference before: tracing takes seconds, and gives the same again."""

import ast
import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError

from cutegen.spec import KernelSpec
from cutegen.spec_error import SpecError
from cutegen.store import write_atomically
from cutegen.toolchain.cache import default_cache_dir

if TYPE_CHECKING:
    from cutegen.cases import CheckShapes

# What a reference may import for its text to say all about it: nothing that is the user's own.
_SETTLED = {
    *("__future__", "collections", "dataclasses", "enum", "functools", "itertools", "math"),
    *("numpy", "operator", "torch", "typing"),
}
_HERE = Path(__file__).resolve().parent
_SPEC = TypeAdapter(KernelSpec)

Found = TypeVar("Found")


def from_file(
    path: str | Path,
    *,
    name: str | None,
    math_mode: str,
    check_shapes: "CheckShapes | None",
    seed: int,
) -> KernelSpec:
    """See ``KernelSpec.from_kernelbench``."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}; give a KernelBench file") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is no UTF-8 text; give a KernelBench-format .py file") from error
    title = name or path.stem

    def derive() -> KernelSpec:
        from cutegen.derivation import from_text  # noqa: PLC0415 - tracing takes seconds to import

        return from_text(
            text,
            str(path),
            name=title,
            math_mode=math_mode,
            check_shapes=check_shapes,
            seed=seed,
        )

    return _derived_once(text, [title, math_mode, check_shapes, seed], derive)


def _derived_once(
    text: str, options: Sequence[object], derive: Callable[[], KernelSpec]
) -> KernelSpec:
    """The spec of a reference: kept from an earlier time, or derived and kept.

    It is kept only where the text decides it: a reference that imports anything but PyTorch,
    NumPy and a few standard modules is derived every time.

    Args:
        text: The reference file.
        options: Whatever else the spec depends on, as JSON values.
        derive: Derives it; what it raises is not kept.
    """
    if not says_all(text):
        return derive()
    spec = known("specs", [text, options], _SPEC, derive)
    return spec if spec.reference.text == text else derive()


def known(
    folder: str, decided_by: Sequence[object], kind: TypeAdapter[Found], find: Callable[[], Found]
) -> Found:
    """What was found before from the same things, or what ``find`` gives, which is then kept.

    Args:
        folder: Where it is kept, within the cache.
        decided_by: What decides it, as JSON values, besides PyTorch, Python and this package.
        kind: How it is written and read.
        find: Finds it; what it raises is not kept.
    """
    key = json.dumps([*decided_by, torch.__version__, sys.version, _this_package()])
    kept = default_cache_dir() / folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValidationError):  # absent or damaged: found anew
        return kind.validate_json(kept.read_bytes())
    found = find()
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, kind.dump_json(found))
    return found


def says_all(text: str) -> bool:
    """Whether a reference file's text alone decides what it computes."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return False
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    called = {node.id for node in nodes if isinstance(node, ast.Name)}
    return all(name.partition(".")[0] in _SETTLED for name in names) and not called & {
        "__import__",
        "open",
        "exec",
        "eval",
    }


def _this_package() -> str:
    """Hash of the modules that derive specs: another version may derive another one."""
    digest = hashlib.sha256()
    for module in sorted(_HERE.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()
