"""Which names of a function are made from which others, and what an expression reads."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from tree_sitter import Node

from cutegen.cuda_tree import text, walk

# What a tensor's extent is does not depend on where its data lies.
EXTENTS = re.compile(r"size|shape|rank|depth|stride|cosize|layout|get_layout|sizeof\w*")
_INDICES = ("blockIdx", "threadIdx", "blockDim", "gridDim")
_DEEPEST = 6  # initializers that are followed from a name to what it was read from


class Flow:
    """The assignments of one function, or of a source, to its plain variables."""

    def __init__(self, function: Node) -> None:
        """Read them; nothing is evaluated, and both sides of a branch count."""
        self.function = function
        self._steps = tuple(_assignments(function))
        self._uses = tuple((names, frozenset(mentioned(value))) for names, value in self._steps)
        self._values: dict[str, list[Node]] = {}
        for names, value in self._steps:
            for name in names:
                self._values.setdefault(name, []).append(value)
        self._variables = self._values.keys() | {
            name
            for node in walk(function)
            if node.type
            in ("parameter_declaration", "optional_parameter_declaration", "declaration")
            for declarator in node.children_by_field_name("declarator")
            for name in declared(declarator)
        }

    def derived(self, seeds: AbstractSet[str]) -> frozenset[str]:
        """``seeds`` and every name whose value mentions one of them, however indirectly."""
        known = set(seeds)
        before = -1
        while len(known) > before:
            before = len(known)
            for names, used in self._uses:
                if not known.isdisjoint(used):
                    known.update(names)
        return frozenset(known)

    def made_by(self, pattern: re.Pattern[str]) -> frozenset[str]:
        """Names whose value mentions a word that ``pattern`` matches, such as a CuTe function."""
        return frozenset(
            name
            for names, value in self._steps
            if any(pattern.fullmatch(text(node)) for node in walk(value) if not node.child_count)
            for name in names
        )

    def reads(self, node: Node, depth: int = _DEEPEST) -> frozenset[str]:
        """Elements that an expression is computed from, as written; through its variables too."""
        found: set[str] = set()
        pending = [node]
        while pending:
            child = pending.pop()
            if self.is_element(child):
                found.add(text(child))
            elif child.type == "identifier" and depth:
                for value in self._values.get(text(child), ()):
                    found |= self.reads(value, depth - 1)
            else:
                pending.extend(child.children)
        return frozenset(found)

    def is_element(self, node: Node) -> bool:
        """Whether a node is ``x[i]``, ``*x``, ``x.member`` or ``tensor(i)`` of a variable."""
        if node.type in ("subscript_expression", "pointer_expression", "field_expression"):
            return base_name(node) not in _INDICES
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        return (
            function is not None
            and function.type in ("identifier", "call_expression", "parenthesized_expression")
            and base_name(function) in self._variables
            and bool(arguments_of(node))
        )


def base_name(node: Node | None) -> str:
    """The variable that an access goes into; empty when there is none."""
    while node is not None:
        if node.type == "identifier":
            return text(node)
        if node.type == "call_expression":
            node = node.child_by_field_name("function")
        elif node.type == "parenthesized_expression":
            node = node.named_children[0] if node.named_children else None
        else:
            node = node.child_by_field_name("argument")
    return ""


def callee(node: Node) -> str:
    """The unqualified name of the function that a call names, without template arguments."""
    function = node.child_by_field_name("function")
    while function is not None and function.type in ("qualified_identifier", "template_function"):
        function = function.child_by_field_name("name")
    if function is not None and function.type == "field_expression":
        return text(function.child_by_field_name("field"))
    return text(function)


def arguments_of(call: Node) -> list[Node]:
    """The arguments of a call, without comments."""
    arguments = call.child_by_field_name("arguments")
    children = arguments.named_children if arguments is not None else []
    return [child for child in children if child.type != "comment"]


def mentioned(node: Node) -> Iterator[str]:
    """Names in an expression, but for those of which only an extent is asked."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "identifier":
            yield text(current)
        elif current.type == "call_expression" and _asks_an_extent(current):
            function = current.child_by_field_name("function")
            pending.extend(function.children if function is not None else ())
            continue
        pending.extend(current.children)


def _asks_an_extent(call: Node) -> bool:
    """Also in ``k < size<2>(gA)``, which the parser takes for a call of a template ``k``."""
    function = call.child_by_field_name("function")
    return function is not None and any(
        EXTENTS.fullmatch(text(node)) for node in walk(function) if node.type == "identifier"
    )


def declared(node: Node | None) -> Iterator[str]:
    """The names that a declarator introduces."""
    if node is None:
        return
    if node.type == "identifier":
        yield text(node)
    elif node.type in ("array_declarator", "function_declarator", "init_declarator"):
        yield from declared(node.child_by_field_name("declarator"))
    else:  # pointers, references, parentheses, structured bindings
        for child in node.named_children:
            yield from declared(child)


def _assignments(function: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    for node in walk(function):
        if node.type == "init_declarator":
            left, right = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or left.type != "identifier":
                continue
        elif node.type == "for_range_loop":
            left, right = node.child_by_field_name("declarator"), node.child_by_field_name("right")
        else:
            continue
        if right is not None and (names := tuple(declared(left))):
            yield names, right
