"""Which names of a source stand for shared memory, across the calls of its own functions."""

from tree_sitter import Node

from cutegen.cuda_flow import arguments_of, base_name, callee, declared
from cutegen.cuda_syntax import CudaSource
from cutegen.cuda_tree import text, walk

_PASSED = ("identifier", "pointer_expression", "field_expression", "binary_expression")


def shared_names(source: CudaSource) -> dict[int, frozenset[str]]:
    """For each device function, by its node's id, the names that lead into shared memory.

    Those are arrays declared ``__shared__``, what is made from them, and parameters for which a
    caller passes such a name.
    """
    functions = {name_of(function): function for function in source.device_functions}
    everywhere = {name for node in source.root.children for name in _declared_shared(node)}
    found: dict[int, frozenset[str]] = {}
    passed: dict[int, set[str]] = {function.id: set() for function in source.device_functions}
    grown = True
    while grown:
        grown = False
        for function in source.device_functions:
            own = {name for node in walk(function) for name in _declared_shared(node)}
            names = source.flow(function).derived(own | everywhere | passed[function.id])
            found[function.id] = names
            for target, name in _passed_on(function, names, functions):
                if name not in passed[target.id]:
                    passed[target.id].add(name)
                    grown = True
    return found


def name_of(function: Node) -> str:
    """The name of a function's definition; empty where the parser found none."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type in (
        "function_declarator",
        "pointer_declarator",
        "reference_declarator",
    ):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = declarator.named_children[-1] if declarator.named_children else None
        declarator = inner
    return text(declarator)


def parameters_of(function: Node) -> list[str]:
    """The names of a function's parameters, in order; empty for unnamed ones."""
    for node in walk(function):
        if node.type == "parameter_list":
            return [
                next(declared(child.child_by_field_name("declarator")), "")
                for child in node.named_children
                if child.type.endswith("parameter_declaration")
            ]
    return []


def _declared_shared(node: Node) -> list[str]:
    if node.type != "declaration" or not any(text(c) == "__shared__" for c in node.children):
        return []
    return [
        name
        for declarator in node.children_by_field_name("declarator")
        for name in declared(declarator)
    ]


def _passed_on(
    function: Node, names: frozenset[str], functions: dict[str, Node]
) -> list[tuple[Node, str]]:
    """Parameters of other functions for which this one passes shared memory itself."""
    found = []
    for call in walk(function):
        if call.type != "call_expression" or callee(call) not in functions:
            continue
        target = functions[callee(call)]
        for argument, parameter in zip(arguments_of(call), parameters_of(target), strict=False):
            is_place = argument.type in _PASSED and (
                base_name(argument) in names
                or (
                    argument.type == "binary_expression"
                    and base_name(argument.child_by_field_name("left")) in names
                )
            )
            if parameter and is_place:
                found.append((target, parameter))
    return found
