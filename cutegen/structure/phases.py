"""How often the threads of a kernel go over their data, and where they keep it meanwhile."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from cutegen.cuda_flow import arguments_of, base_name, callee, declared
from cutegen.cuda_loops import LOOPS
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import View

_MEETING = re.compile(
    r"__syncthreads\w*|__shfl_\w+|__reduce_\w+_sync|cluster_sync|cluster_wait|BlockReduce|WarpReduce"
)
_DEEPEST = 4  # calls that are followed


def phases(view: View, *, multiplies: bool) -> tuple[str, str]:
    """The number of phases of the kernel that has most, and where it keeps data across them.

    A phase is what loops do between two points where threads meet: a softmax has three, or two
    when it is computed online. Data that loops of several phases use is kept in ``registers`` or
    in ``smem``; with ``none`` every phase reads it anew. Products are told by their own features.
    """
    if multiplies:
        return "none", "none"
    found = [(_groups(view, kernel), kernel) for kernel in view.source.kernels]
    groups, kernel = max(found, key=lambda pair: len(pair[0]), default=([], None))
    if kernel is None:
        return "1", "none"
    kept = {kind for kind, names in _places(view, kernel) if _used_twice(groups, names)}
    return str(max(len(groups), 1)), "+".join(sorted(kept)) or "none"


def _places(view: View, kernel: Node) -> tuple[tuple[str, frozenset[str]], ...]:
    registers = view.fragments(kernel)
    return ("registers", registers), ("smem", view.arrays(kernel) - registers)


def _used_twice(groups: list[list[Node]], names: frozenset[str]) -> bool:
    used = [{name for loop in group for name in _elements_of(loop)} & names for group in groups]
    return any(first & second for i, first in enumerate(used) for second in used[i + 1 :])


def _elements_of(loop: Node) -> set[str]:
    """Arrays and tensors from without whose elements a loop uses."""
    used: set[str] = set()
    own: set[str] = set()
    for node in walk(loop):
        if node.type in ("subscript_expression", "call_expression"):
            used.add(base_name(node))
            used.update(base_name(argument) for argument in arguments_of(node))
        elif node.type == "init_declarator":
            own.update(declared(node.child_by_field_name("declarator")))
    return used - own


def _groups(view: View, kernel: Node) -> list[list[Node]]:
    """The loops of each phase, in order."""
    groups: list[list[Node]] = []
    apart = True
    for node in _events(view, kernel):
        if node.type not in LOOPS:
            apart = True
        elif apart:
            groups.append([node])
            apart = False
        else:
            groups[-1].append(node)
    return groups


def _events(view: View, node: Node) -> Iterator[Node]:
    """Loops in which no threads meet, and the places where they do, in source order."""
    if node.type == "comment":
        return
    if node.type in LOOPS and not _meets(view, node):
        yield node
        return
    if _is_meeting(view, node):
        yield node
    for child in node.children:
        yield from _events(view, child)


def _meets(view: View, node: Node, depth: int = _DEEPEST) -> bool:
    return any(_is_meeting(view, inner, depth) for inner in walk(node))


def _is_meeting(view: View, node: Node, depth: int = _DEEPEST) -> bool:
    if node.type == "identifier" and _MEETING.fullmatch(text(node)):
        return True
    if node.type != "call_expression" or not depth:
        return False
    called = view.by_name.get(callee(node))
    return called is not None and _meets(view, called, depth - 1)
