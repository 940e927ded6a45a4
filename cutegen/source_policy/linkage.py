"""Functions of other translation units, and code that runs before anybody calls it."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from cutegen.cuda_tree import text, walk
from cutegen.source_policy.violation import Violation

_CONTRACT = frozenset({"cutegen_launch", "cutegen_workspace_bytes"})
_ATTRIBUTE = re.compile(r"\b(?:__)?(constructor|destructor|ifunc|alias|weakref|section)(?:__)?\b")
_RUNTIME = re.compile(r"(?:__)?cu(?:da)?[A-Z]\w*|__cuda\w+")
_FUNCTION_SCOPES = ("function_definition", "lambda_expression", "template_declaration")


def foreign_functions(root: Node) -> Iterator[Violation]:
    """C functions that are declared and not defined here, or that replace the runtime's."""
    defined = {
        _name(node.child_by_field_name("declarator"))
        for node in walk(root)
        if node.type == "function_definition"
    }
    for node in walk(root):
        if node.type == "function_definition":
            name = _name(node.child_by_field_name("declarator"))
            if _RUNTIME.fullmatch(name):
                yield Violation(
                    node.start_point[0] + 1,
                    f"{name} replaces a function of the CUDA runtime",
                    "give it another name",
                )
        elif node.type == "linkage_specification":
            for declaration in _declarations(node):
                name = _name(declaration.child_by_field_name("declarator"))
                if name and name not in defined | _CONTRACT:
                    yield Violation(
                        declaration.start_point[0] + 1,
                        f"{name} is declared here and defined elsewhere",
                        "a candidate is one source: define every function in it",
                    )


def load_time_code(root: Node) -> Iterator[Violation]:
    """Attributes that have the loader run or replace something."""
    for node in walk(root):
        if node.type in ("attribute_specifier", "attribute_declaration"):
            found = _ATTRIBUTE.search(text(node))
            if found:
                yield Violation(
                    node.start_point[0] + 1,
                    f"the attribute {found[1]} acts when the library is loaded",
                    "do everything in cutegen_launch",
                )


def initialised_at_load(root: Node) -> Iterator[Violation]:
    """Objects at file scope whose initial value is computed by functions of the source."""
    running = {
        _name(node.child_by_field_name("declarator"))
        for node in walk(root)
        if node.type == "function_definition" and "constexpr" not in _head(node)
    }
    for node in walk(root):
        if node.type != "declaration" or _inside_function(node) or "constexpr" in text(node):
            continue
        made = text(node.child_by_field_name("type")) in running
        calls = any(
            n.type == "call_expression" and text(n.child_by_field_name("function")) in running
            for n in walk(node)
        )
        if made or calls:
            yield Violation(
                node.start_point[0] + 1,
                "an object at file scope is initialised by code that runs at load",
                "make it constexpr, or compute it in cutegen_launch",
            )


def _head(function: Node) -> str:
    """What stands before a function's body."""
    body = function.child_by_field_name("body")
    return " ".join(text(child) for child in function.children if child != body)


def _inside_function(node: Node) -> bool:
    above = node.parent
    while above is not None:
        if above.type in _FUNCTION_SCOPES:
            return True
        above = above.parent
    return False


def _declarations(linkage: Node) -> Iterator[Node]:
    """Function declarations directly below an ``extern "C"``."""
    body = linkage.child_by_field_name("body")
    if body is None:
        return
    candidates = body.children if body.type == "declaration_list" else [body]
    for node in candidates:
        if node.type == "declaration" and any(n.type == "function_declarator" for n in walk(node)):
            yield node


def _name(declarator: Node | None) -> str:
    """The plain name in a declarator, whatever pointers and parameters are around it."""
    while declarator is not None and declarator.type not in ("identifier", "qualified_identifier"):
        declarator = declarator.child_by_field_name("declarator") or next(
            (n for n in declarator.named_children if n.type.endswith("declarator")), None
        )
    return text(declarator)
