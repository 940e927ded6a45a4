"""Replacing pieces of a text, all at once."""

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """``source[start:end]`` becomes ``text``."""

    start: int
    end: int
    text: str


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with every edit made. Edits must not overlap; equal places keep their order."""
    pieces = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += [source[position : edit.start], edit.text]
        position = edit.end
    return "".join((*pieces, source[position:]))
