"""Finding the kernels of a source: their names, bodies and launch bounds."""

from collections.abc import Iterator
from typing import NamedTuple

from cutegen.emulator.tokens import Kind, Token, matching

_ATTRIBUTES = frozenset(
    {"__launch_bounds__", "__attribute__", "alignas", "__maxnreg__", "__cluster_dims__"}
)


class Kernel(NamedTuple):
    """A ``__global__`` function: token indices of its body's braces, if it is defined here.

    ``bounds`` is the text within ``__launch_bounds__(...)``, empty without one, and ``cluster``
    that within ``__cluster_dims__(...)``.
    """

    name: str
    opening: int | None
    closing: int | None
    bounds: str
    cluster: str


def find_kernels(source: str, tokens: list[Token]) -> Iterator[Kernel]:
    """Every ``__global__`` function, declared or defined, in order."""
    for index, token in enumerate(tokens):
        if token.kind is Kind.WORD and token.text == "__global__":
            kernel = _read_kernel(source, tokens, index)
            if kernel is not None:
                yield kernel


def _read_kernel(source: str, tokens: list[Token], index: int) -> Kernel | None:
    bounds = cluster = ""
    while index + 1 < len(tokens):
        token, following = tokens[index], tokens[index + 1]
        if token.text in {";", "{", "}"}:
            return None
        if following.text == "(" and token.kind is Kind.WORD:
            end = matching(tokens, index + 1)
            if end is None:
                return None
            if token.text not in _ATTRIBUTES:
                return _with_body(tokens, token.text, end, bounds, cluster)
            if token.text == "__launch_bounds__":
                bounds = source[following.end : tokens[end].start]
            if token.text == "__cluster_dims__":
                cluster = " ".join(source[following.end : tokens[end].start].split())
            index = end
        index += 1
    return None


def _with_body(
    tokens: list[Token], name: str, parameters_end: int, bounds: str, cluster: str
) -> Kernel:
    for index in range(parameters_end + 1, len(tokens)):
        if tokens[index].text == ";":
            break
        if tokens[index].text == "{":
            return Kernel(name, index, matching(tokens, index), bounds, cluster)
    return Kernel(name, None, None, bounds, cluster)
