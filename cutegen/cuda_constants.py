"""Integers that a CUDA source knows at compile time, CuTe's static integers among them."""

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from cutegen.cuda_tree import parse, text, walk

_SIZES = {
    **dict.fromkeys(("double", "int64_t", "uint64_t", "size_t", "long", "float2", "int2"), 8),
    **dict.fromkeys(("float", "int", "int32_t", "uint32_t", "unsigned"), 4),
    **dict.fromkeys(("float4", "int4", "uint4", "uint128_t", "double2"), 16),
    **dict.fromkeys(("half", "half_t", "bfloat16_t", "int16_t", "uint16_t", "short"), 2),
    **dict.fromkeys(("char", "int8_t", "uint8_t", "bool"), 1),
}
_STATIC_INTEGER = re.compile(r"(?:cute::)?_(\d+)")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": lambda left, right: left << min(right, 64),  # a mistyped shift may ask for gigabytes
    ">>": operator.rshift,
}
_FIXED = ("constexpr", "const", "auto")


class Constants(NamedTuple):
    """Constants by name; ``derived`` names those that merely follow from others."""

    values: dict[str, int]
    derived: frozenset[str]


def named_constants(root: Node) -> Constants:
    """Macros, aliases of static integers, template defaults, enumerators, fixed variables.

    A ``const`` variable that is computed is derived, whereas ``constexpr`` states an intent.
    Where a name is defined twice, the last definition counts.
    """
    known: dict[str, int] = {}
    derived: set[str] = set()
    for node in walk(root):
        name, value = definition(node)
        number = evaluate(value, known)
        if not name or value is None or number is None:
            continue
        known[name] = number
        parent = node.parent
        qualifiers = {text(child) for child in parent.children} if parent is not None else set()
        if "const" in qualifiers and value.type != "number_literal":
            derived.add(name)
    return Constants(known, frozenset(derived))


def evaluate(node: Node | None, known: dict[str, int]) -> int | None:
    """The integer that an expression or a static-integer type stands for, or None."""
    if node is None:
        return None
    written = text(node)
    static = static_integer(written)
    if static is not None:
        return static
    rule = _RULES.get(node.type)
    try:
        return rule(node, written, known) if rule else None
    except RecursionError:  # a sum of thousands of terms: no number that anybody tunes
        return None


def static_integer(written: str) -> int | None:
    """The number that one of CuTe's ready-made static integers stands for: ``_128``."""
    found = _STATIC_INTEGER.fullmatch(written)
    return int(found[1]) if found else None


_Rule = Callable[[Node, str, dict[str, int]], int | None]


def _integer(_node: Node, written: str, _known: dict[str, int]) -> int | None:
    try:
        return int(written.replace("'", "").rstrip("uUlLzZ"), 0)
    except ValueError:  # a floating-point literal
        return None


def _name(_node: Node, written: str, known: dict[str, int]) -> int | None:
    return known.get(written)


def _size(_node: Node, written: str, _known: dict[str, int]) -> int | None:
    return _SIZES.get(written.removeprefix("sizeof").strip("() ").split("::")[-1])


def _last_child(node: Node, _written: str, known: dict[str, int]) -> int | None:
    return evaluate(node.named_children[-1], known) if node.named_children else None


def _field(field: str) -> _Rule:
    return lambda node, _written, known: evaluate(node.child_by_field_name(field), known)


def _static_integer_type(node: Node, _written: str, known: dict[str, int]) -> int | None:
    """``Int<128>``, ``C<kTile>``."""
    arguments = node.child_by_field_name("arguments")
    if text(node.child_by_field_name("name")) not in ("Int", "C") or arguments is None:
        return None
    return evaluate(arguments.named_children[0], known) if arguments.named_children else None


def _binary(node: Node, _written: str, known: dict[str, int]) -> int | None:
    left = evaluate(node.child_by_field_name("left"), known)
    right = evaluate(node.child_by_field_name("right"), known)
    apply = _OPERATORS.get(text(node.child_by_field_name("operator")))
    if left is None or right is None or apply is None:
        return None
    try:
        return apply(left, right)
    except (ArithmeticError, ValueError):  # division by zero, a negative shift
        return None


_RULES: dict[str, _Rule] = {
    "number_literal": _integer,
    "identifier": _name,
    "type_identifier": _name,
    "sizeof_expression": _size,
    "parenthesized_expression": _last_child,
    "type_descriptor": _last_child,
    "cast_expression": _last_child,
    "compound_literal_expression": _field("type"),  # Int<128>{}
    "qualified_identifier": _field("name"),
    "template_type": _static_integer_type,
    "template_function": _static_integer_type,
    "call_expression": _field("function"),  # Int<128>()
    "binary_expression": _binary,
}


def definition(node: Node) -> tuple[str, Node | None]:
    """Name and value of a definition that may be a constant; empty for other nodes.

    The value of a macro is a node of a tree of its own.
    """
    name, value = "declarator", "value"
    match node.type:
        case "preproc_def":
            return text(node.child_by_field_name("name")), _macro_value(node)
        case "alias_declaration":
            name, value = "name", "type"
        case "optional_parameter_declaration" if _is_in(node, "template_parameter_list"):
            value = "default_value"
        case "init_declarator" if node.parent is not None and any(
            text(child) in _FIXED for child in node.parent.children
        ):
            pass
        case "enumerator":
            name = "name"
        case _:
            return "", None
    return text(node.child_by_field_name(name)), node.child_by_field_name(value)


def _macro_value(node: Node) -> Node | None:
    """A macro's text, parsed as the initializer it would be."""
    value = text(node.child_by_field_name("value"))
    for child in walk(parse(f"int x = {value};")):
        if child.type == "init_declarator":
            return child.child_by_field_name("value")
    return None


def _is_in(node: Node, kind: str) -> bool:
    return node.parent is not None and node.parent.type == kind
