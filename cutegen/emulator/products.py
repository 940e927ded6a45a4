"""Matrix instructions that are called by name, without CuTe's tensors.

A static function cannot know its class, so ``Atom::fma(...)`` says it by a template argument.
"""

from collections.abc import Iterator

from cutegen.emulator.edit import Edit
from cutegen.emulator.tokens import Kind, Token

_NAMESPACES = frozenset({"", "cute", "::cute", "std", "::std"})
_CLOSINGS = frozenset({">", ">>>"})


def product_edits(source: str, tokens: list[Token]) -> Iterator[Edit]:
    """Edits of every call of a class's ``fma``."""
    for index in range(2, len(tokens) - 1):
        before, name, after = tokens[index - 1 : index + 2]
        if (before.text, name.text, after.text) != ("::", "fma", "("):
            continue
        first = _name_start(tokens, index - 2)
        owner = source[tokens[first].start : tokens[index - 2].end]
        if owner not in _NAMESPACES:
            word = "typename " if "::" in owner else ""
            yield Edit(tokens[first].start, name.end, f"::cutegen_emu::fma<{word}{owner}>")


def _name_start(tokens: list[Token], last: int) -> int:
    """The first token of the qualified name, with template arguments, that ends at ``last``."""
    index = last
    while True:
        if tokens[index].text in _CLOSINGS:
            index = _opening(tokens, index) - 1
        if index < 1 or tokens[index - 1].text != "::":
            return index
        qualifier = tokens[index - 2] if index > 1 else None
        if not qualifier or (qualifier.kind is not Kind.WORD and qualifier.text not in _CLOSINGS):
            return index - 1  # a leading ::
        index -= 2


def _opening(tokens: list[Token], closing: int) -> int:
    depth = 0
    for index in range(closing, 0, -1):
        text = tokens[index].text
        depth += len(text) if text in _CLOSINGS else -(text == "<")
        if depth <= 0:
            return index
    return closing
