"""What loops do: accumulate products, stride by the grid, or load and nothing else."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from tree_sitter import Node

from cutegen.cuda_flow import Flow, arguments_of
from cutegen.cuda_syntax import CudaSource
from cutegen.cuda_tree import text, walk

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_FUSED = ("fmaf", "fma", "__fmaf_rn", "cute::fma", "__hfma", "__hfma2")
_INDICES = frozenset(("blockDim", "gridDim", "blockIdx", "threadIdx"))
_MATH = re.compile(
    r"_*(exp|log|tanh|sqrt|rsqrt|sin|cos|pow|erf|fma|max|min|fmax|fmin|fabs|abs|fdividef)"
    r"(\d+|1p|m1)?f?(_r[nudz])?"
)


def accumulations(source: CudaSource) -> Iterator[Node]:
    """Assignments ``c += a * b`` and ``c = fma(a, b, c)`` in loops of device code.

    The factors are read from different elements: squares, and products of two numbers that were
    computed from the same element, belong to sums and variances.
    """
    integers = _INDICES | source.constants.keys()
    for function in source.device_functions:
        yield from _accumulations_of(function, source.flow(function), integers)


def _accumulations_of(function: Node, flow: Flow, integers: AbstractSet[str]) -> Iterator[Node]:
    seen: set[int] = set()  # loops are nested
    for loop in loops(function):
        for node in walk(loop):
            if node.type != "assignment_expression" or node.id in seen or _is_loop_update(node):
                continue
            seen.add(node.id)
            factors = factors_of(node)
            if factors is None:
                continue
            values = all(_is_value(factor, integers) for factor in factors)
            reads = [flow.reads(factor) for factor in factors]
            if values and all(reads) and reads[0].isdisjoint(reads[1]):
                yield node


def factors_of(assignment: Node) -> tuple[Node, Node] | None:
    """What an assignment multiplies and adds to its target; None if it does something else."""
    left, right = (assignment.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None:
        return None
    if text(assignment.child_by_field_name("operator")) == "+=":
        return _of_product(right)
    return _of_fused(right, text(left))


def _of_product(node: Node) -> tuple[Node, Node] | None:
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    if node.type != "binary_expression" or text(node.child_by_field_name("operator")) != "*":
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    return None if left is None or right is None else (left, right)


def _of_fused(node: Node, target: str) -> tuple[Node, Node] | None:
    """The factors of ``fma(a, b, target)``."""
    if node.type != "call_expression" or text(node.child_by_field_name("function")) not in _FUSED:
        return None
    arguments = arguments_of(node)
    if len(arguments) != 3 or text(arguments[2]) != target:  # noqa: PLR2004 - fma(a, b, c)
        return None
    return arguments[0], arguments[1]


def _is_value(node: Node, integers: AbstractSet[str]) -> bool:
    """Whether a factor is data, rather than made of indices and constants."""
    if node.type in ("subscript_expression", "call_expression"):
        return True
    names = {text(child) for child in walk(node) if child.type == "identifier"}
    return bool(names) and names.isdisjoint(integers)


def _is_loop_update(node: Node) -> bool:
    parent = node.parent
    return (
        parent is not None
        and parent.type == "for_statement"
        and parent.child_by_field_name("update") == node
    )


def loops(node: Node) -> Iterator[Node]:
    """Every loop in a node, outer ones first."""
    return (child for child in walk(node) if child.type in LOOPS)


def strides_by_grid(function: Node) -> bool:
    """Whether some loop advances by a multiple of the grid's size."""
    strides = {"gridDim"}
    for node in walk(function):
        if node.type == "init_declarator":
            value = node.child_by_field_name("value")
            if value is not None and _mentions(value, strides):
                strides.add(text(node.child_by_field_name("declarator")))
    for loop in loops(function):
        update = loop.child_by_field_name("update")
        if update is not None and _mentions(update, strides):
            return True
        for node in walk(loop):
            if (
                node.type == "assignment_expression"
                and text(node.child_by_field_name("operator")) == "+="
                and _mentions(node.child_by_field_name("right"), strides)
            ):
                return True
    return False


def _mentions(node: Node | None, names: set[str]) -> bool:
    return node is not None and any(
        text(child) in names for child in walk(node) if not child.child_count
    )


def loads_before_use(function: Node) -> bool:
    """Whether a loop only loads, and another loop follows it that can use what was loaded."""
    for block in walk(function):
        if block.type == "compound_statement":
            inner = [child for child in block.named_children if child.type in LOOPS]
            if any(only_loads(loop) for loop in inner[:-1]):
                return True
    return False


def only_loads(loop: Node) -> bool:
    """Whether each statement of a loop is a copy, a load into an element, or a declaration."""
    kinds = {_statement_kind(node) for node in _statements(loop.child_by_field_name("body"))}
    return "load" in kinds and kinds <= {"load", "declaration"}


def _statements(node: Node | None) -> Iterator[Node]:
    """Single statements, out of blocks and from both sides of conditions."""
    if node is None or node.type == "comment":
        return
    if node.type in ("compound_statement", "else_clause"):
        for child in node.named_children:
            yield from _statements(child)
    elif node.type == "if_statement":
        yield from _statements(node.child_by_field_name("consequence"))
        yield from _statements(node.child_by_field_name("alternative"))
    else:
        yield node


def _statement_kind(node: Node) -> str:
    if node.type in ("declaration", "alias_declaration", "preproc_call"):
        return "declaration"
    if node.type != "expression_statement" or not node.named_children:
        return "other"
    expression = node.named_children[0]
    if expression.type == "call_expression":
        called = text(expression.child_by_field_name("function")).split("::")[-1]
        return "load" if called in ("copy", "copy_if", "copy_aligned") else "other"
    if expression.type == "assignment_expression":
        left, right = (expression.child_by_field_name(side) for side in ("left", "right"))
        if left is None or right is None or text(expression.child_by_field_name("operator")) != "=":
            return "other"
        into_element = left.type in ("subscript_expression", "call_expression")
        return "load" if into_element and _is_load(right) else "other"
    return "other"


def _is_load(node: Node) -> bool:
    """An element, a dereference, or a load intrinsic, perhaps guarded by ``?:``."""
    if node.type == "conditional_expression":
        chosen = node.child_by_field_name("consequence")
        return chosen is not None and _is_load(chosen)
    if node.type == "call_expression":
        called = text(node.child_by_field_name("function"))
        plain = re.fullmatch(r"__ld\w+|[A-Za-z_]\w*", called) is not None
        arguments = node.child_by_field_name("arguments")
        computed = arguments is not None and any(
            child.type in ("subscript_expression", "call_expression") for child in walk(arguments)
        )
        return called.startswith("__ld") or (plain and not computed and not _MATH.fullmatch(called))
    return node.type in ("subscript_expression", "pointer_expression")
