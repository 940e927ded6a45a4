"""Edge cases found before: trying a reference at new shapes takes seconds of imports alone."""

import contextlib
import hashlib
import json
import sys
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from cutegen.known_specs import says_all, this_package
from cutegen.spec import Case, KernelSpec
from cutegen.store import write_atomically
from cutegen.toolchain.cache import default_cache_dir
from cutegen.verification.tiles import Tiles

_CASES = TypeAdapter(tuple[Case, ...])


def known_edge_cases(spec: KernelSpec, tiles: Tiles) -> tuple[Case, ...]:
    """What ``edge_cases`` gives; from an earlier time where the reference's text decides it."""

    def found() -> tuple[Case, ...]:
        from cutegen.verification.edge_shapes import edge_cases  # noqa: PLC0415 - see above

        return edge_cases(spec, tiles)

    if spec.reference.kind != "source" or not says_all(spec.reference.text):
        return found()
    rules = Path(__file__).with_name("edge_shapes.py").read_text(encoding="utf-8")
    parts = [spec.id, repr(tiles), torch.__version__, sys.version, this_package(), rules]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    kept = default_cache_dir() / "edges" / f"{key}.json"
    with contextlib.suppress(OSError, ValidationError):  # absent or damaged: found anew
        return _CASES.validate_json(kept.read_bytes())
    cases = found()
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, _CASES.dump_json(cases).decode())
    return cases
