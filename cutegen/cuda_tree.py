"""The syntax tree of CUDA C++, and the two ways to read a node."""

from collections.abc import Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_cuda.language())


def parse(source: str) -> Node:
    """The root of the tree; errors in the source are nodes like others."""
    return Parser(_LANGUAGE).parse(source.encode()).root_node


def text(node: Node | None) -> str:
    """The source text of a node; empty for None."""
    return node.text.decode(errors="replace") if node is not None and node.text else ""


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in source order, comments left out."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "comment":
            continue
        yield current
        pending.extend(reversed(current.children))
