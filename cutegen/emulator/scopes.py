"""Which tokens stand inside a function body, and which at namespace or class scope."""

from collections.abc import Sequence

from cutegen.emulator.tokens import Kind, Token

_CLASSES = frozenset({"struct", "class", "union", "enum"})


def inside_functions(tokens: Sequence[Token]) -> list[bool]:
    """For every token, whether an enclosing brace belongs to a function body."""
    inside = []
    braces: list[bool] = []
    introduction = 0  # where the statement that may open a brace began
    for index, token in enumerate(tokens):
        if token.text == "{":
            enclosing = bool(braces and braces[-1])
            braces.append(enclosing or not _opens_declarations(tokens[introduction:index]))
        inside.append(bool(braces and braces[-1]))
        if token.text == "}" and braces:
            braces.pop()
        if token.text in {";", "{", "}"} or token.kind is Kind.DIRECTIVE:
            introduction = index + 1
    return inside


def _opens_declarations(introduction: Sequence[Token]) -> bool:
    """Whether a brace after these tokens opens a namespace, a linkage block or a class."""
    words = {token.text for token in introduction if token.kind is Kind.WORD}
    if "namespace" in words:
        return True
    if "extern" in words and introduction[-1].kind is Kind.TEXT:
        return True
    # `template <class T> void f(struct X x) {` names a class as well, but has parameters.
    return bool(words & _CLASSES) and not any(token.text == "(" for token in introduction)
