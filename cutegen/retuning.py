"""New values for the named constants of a source: a variant that is told without its text."""

from collections.abc import Mapping

from tree_sitter import Node

from cutegen.cuda_constants import definition, evaluate, static_integer
from cutegen.cuda_tree import parse, text, walk
from cutegen.edits import EditRefusedError


def with_constants(source: str, values: Mapping[str, int]) -> str:
    """The source with other numbers in the definitions of named constants.

    A constant is a name whose definition is a number: ``constexpr int kThreads = 256;``,
    ``using Tile = Int<128>;``, ``#define STAGES 3``. One that is computed follows from others.

    Args:
        source: CUDA C++.
        values: New numbers by name.

    Raises:
        EditRefusedError: A name is not defined, or more than once, or is no number by itself,
            or nothing would change.
    """
    root = parse(source)
    found: dict[str, list[Node]] = {}
    for node in walk(root):
        name, _ = definition(node)
        if name:
            found.setdefault(name, []).append(node)
    spans = sorted((_span(name, found), str(value)) for name, value in values.items())
    text_ = source.encode()
    for ((start, end), before), after in reversed(spans):
        text_ = text_[:start] + before.format(after).encode() + text_[end:]
    changed = text_.decode()
    if changed == source:
        raise EditRefusedError("the constants have these values already: nothing changes")
    return changed


def _span(name: str, found: Mapping[str, list[Node]]) -> tuple[tuple[int, int], str]:
    """Where the number of a constant stands, and how a new one is written there."""
    nodes = found.get(name, [])
    if len(nodes) != 1:
        told = "is defined more than once" if nodes else "is not defined in the source"
        raise EditRefusedError(f"{name} {told}; the named constants are {', '.join(sorted(found))}")
    _, value = definition(nodes[0])
    if nodes[0].type == "preproc_def":  # its value was parsed from a text of its own
        value = nodes[0].child_by_field_name("value")
        assert value is not None
        if not text(value).strip().isdigit():
            raise EditRefusedError(f"{name} is {text(value).strip()}, no number by itself")
        return (value.start_byte, value.end_byte), "{}"
    numbers = [node for node in walk(value) if _is_number(node)] if value is not None else []
    if len(numbers) != 1 or evaluate(value, {}) != evaluate(numbers[0], {}):
        raise EditRefusedError(
            f"{name} = {text(value)} is no number by itself: it follows from other constants"
        )
    number = numbers[0]
    form = "{}" if number.type == "number_literal" else "Int<{}>"
    return (number.start_byte, number.end_byte), form


def _is_number(node: Node) -> bool:
    if node.child_count:
        return False
    return node.type == "number_literal" or static_integer(text(node)) is not None
