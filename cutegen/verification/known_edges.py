"""Edge cases found before: trying a reference at new shapes takes seconds of imports alone."""

from pathlib import Path

from pydantic import TypeAdapter

from cutegen.known_specs import known, says_all
from cutegen.spec import Case, KernelSpec
from cutegen.verification.tiles import Tiles

_CASES = TypeAdapter(tuple[Case, ...])


def known_edge_cases(spec: KernelSpec, tiles: Tiles) -> tuple[Case, ...]:
    """What ``edge_cases`` gives; from an earlier time where the reference's text decides it."""

    def find() -> tuple[Case, ...]:
        from cutegen.verification.edge_shapes import edge_cases  # noqa: PLC0415 - see above

        return edge_cases(spec, tiles)

    if spec.reference.kind != "source" or not says_all(spec.reference.text):
        return find()
    rules = Path(__file__).with_name("edge_shapes.py").read_text(encoding="utf-8")
    return known("edges", [spec.id, repr(tiles), rules], _CASES, find)
