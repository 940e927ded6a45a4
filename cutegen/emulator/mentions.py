"""Kernels that are named without being called: their address will be launched.

An address alone does not say how its arguments are passed, so every mention tells the runtime:
``&k<float>`` becomes ``&::cutegen_emu::known("k<float>", k<float>)``.
"""

from collections.abc import Iterator, Sequence

from cutegen.emulator.edit import Edit
from cutegen.emulator.kernels import Kernel
from cutegen.emulator.tokens import Kind, Token, matching

_BEFORE = frozenset({"(", ")", ",", "=", "&", "return", "{"})
_AFTER = frozenset({")", ",", ";", "}"})


def mention_edits(source: str, tokens: list[Token], kernels: Sequence[Kernel]) -> Iterator[Edit]:
    """Edits round every mention of a kernel of the source."""
    clusters: dict[str, str] = {}
    for kernel in kernels:
        clusters[kernel.name] = kernel.cluster or clusters.get(kernel.name, "")
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.text not in clusters or not index:
            continue
        end = _name_end(tokens, index)
        if end is None or end + 1 >= len(tokens):
            continue
        if tokens[index - 1].text in _BEFORE and tokens[end + 1].text in _AFTER:
            text = " ".join(source[token.start : tokens[end].end].split())
            cluster = f", {clusters[token.text]}" if clusters[token.text] else ""
            shown = text.replace("\\", "\\\\").replace('"', '\\"')
            yield Edit(token.start, token.start, f'::cutegen_emu::known("{shown}", ')
            yield Edit(tokens[end].end, tokens[end].end, f"{cluster})")


def _name_end(tokens: list[Token], index: int) -> int | None:
    """Index of the last token of a name with its template arguments, if it has any."""
    if index + 1 >= len(tokens) or tokens[index + 1].text != "<":
        return index
    depth = 0
    position = index + 1
    while position < len(tokens):
        text = tokens[position].text
        if text in {"(", "[", "{"}:
            end = matching(tokens, position)
            if end is None:
                return None
            position = end
        elif text == ";":
            return None
        elif text == "<":
            depth += 1
        elif text in {">", ">>>"}:
            depth -= len(text)
            if depth <= 0:
                return position
        position += 1
    return None
