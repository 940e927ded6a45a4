"""How threads combine what they have: by shuffles, shared memory, clusters, online, by atomics."""

import re
from collections.abc import Callable

from tree_sitter import Node

from cutegen.cuda_flow import arguments_of, base_name, callee
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import View

_SHUFFLE = re.compile(
    r"__shfl_(down|up|xor)_sync|__shfl_sync|__reduce_\w+_sync|WarpReduce|BlockReduce"
)
_BLOCK = re.compile(r"BlockReduce")
_CLUSTER = re.compile(
    r"(__cluster_)?map_shared_rank|__cluster_map_shared_rank|store_shared_remote\w*|set_block_rank"
)
_CLUSTER_PTX = re.compile(r"\bmapa\b|\b(ld|st)\.shared::cluster|st\.async")
_EXPONENTIAL = re.compile(r"(::)?(std::|cute::|cutlass::)?_*(exp2?|fast_exp|ex2)f?\w*")
_ATOMIC = re.compile(
    r"atomic(Add|Max|Min|CAS|Exch|Or|And)(_\w+)?|atomic_ref|red_async|SM90_TMA_REDUCE\w*"
)
_ATOMIC_PTX = re.compile(r"\b(red|atom)\.(global|shared|async|release|relaxed)")


def reduction(view: View, *, multiplies: bool) -> str:
    """The kinds of combining that happen between threads, innermost first."""
    kinds = []
    if view.any(_SHUFFLE):
        kinds.append("shuffle")
    if view.any(_BLOCK) or _by_shared_memory(view, multiplies=multiplies):
        kinds.append("smem")
    if over_cluster(view):
        kinds.append("cluster")
    if any(_rescales(view, function) for function in view.functions):
        kinds.append("online")
    if view.any(_ATOMIC) or _ATOMIC_PTX.search(view.source.assembly):
        kinds.append("atomic")
    return "+".join(kinds) or "none"


def over_cluster(view: View) -> bool:
    """Whether blocks read or write each other's shared memory."""
    return view.any(_CLUSTER) or _CLUSTER_PTX.search(view.source.assembly) is not None


def _by_shared_memory(view: View, *, multiplies: bool) -> bool:
    """Whether elements of shared memory are added or compared, or are handed to a shuffle.

    The factors of a product are read there too; of kernels with products only the last counts.
    """
    return any(
        _combines(view, function, multiplies=multiplies)
        for function in view.functions
        if view.shared(function)
    )


def _combines(view: View, function: Node, *, multiplies: bool) -> bool:
    shared = view.shared(function)

    def elements(node: Node) -> list[Node]:
        return [
            inner
            for inner in walk(node)
            if inner.type in ("subscript_expression", "call_expression", "pointer_expression")
            and base_name(inner) in shared
        ]

    for node in walk(function):
        if node.type == "call_expression":
            called = view.by_name.get(callee(node))
            handed = any(elements(argument) for argument in arguments_of(node))
            if handed and called is not None and _shuffles(view, called):
                return True
        if multiplies:
            continue
        if node.type == "assignment_expression" and _accumulates(node, elements):
            return True
        if node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "+":
            sides = [node.child_by_field_name(side) for side in ("left", "right")]
            if all(side is not None and elements(side) for side in sides):
                return True
    return False


def _accumulates(assignment: Node, elements: Callable[[Node], list[Node]]) -> bool:
    """``x += s[i]``, ``x = max(x, s[i])``, ``x = merged(x, s[i])``, ``x = x + s[i]``."""
    left, right = (assignment.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None or not elements(right):
        return False
    if text(assignment.child_by_field_name("operator")) != "=":
        return True
    return any(
        inner.type in ("call_expression", "binary_expression", "conditional_expression")
        and text(left) in {text(child) for child in walk(inner)}
        for inner in walk(right)
    )


def _rescales(view: View, function: Node) -> bool:
    """Whether a running sum is rescaled when its maximum rises: ``s * exp(old - new) + …``."""
    for node in walk(function):
        if node.type != "binary_expression" or text(node.child_by_field_name("operator")) != "+":
            continue
        for side in ("left", "right"):
            product = node.child_by_field_name(side)
            if product is None or text(product.child_by_field_name("operator")) != "*":
                continue
            factors = (product.child_by_field_name(each) for each in ("left", "right"))
            if any(factor is not None and _is_shrinking(view, factor) for factor in factors):
                return True
    return False


def _is_shrinking(view: View, factor: Node) -> bool:
    """``exp(a - b)``, also by a function of the source's own."""
    if factor.type != "call_expression":
        return False
    arguments = arguments_of(factor)
    if not arguments or text(arguments[0].child_by_field_name("operator")) != "-":
        return False
    called = view.by_name.get(callee(factor))
    if called is None:
        return _EXPONENTIAL.fullmatch(callee(factor)) is not None
    return any(
        node.type == "call_expression" and _EXPONENTIAL.fullmatch(callee(node))
        for node in walk(called)
    )


def _shuffles(view: View, function: Node, depth: int = 4) -> bool:
    """Whether a function shuffles, itself or by what it calls."""
    for node in walk(function):
        if not node.child_count and _SHUFFLE.fullmatch(text(node)):
            return True
        if depth and node.type == "call_expression":
            called = view.by_name.get(callee(node))
            if called is not None and called != function and _shuffles(view, called, depth - 1):
                return True
    return False
