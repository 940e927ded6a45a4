"""Reading a candidate's source for what it may not do; macros are looked into, not expanded."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from cutegen.cuda_tree import parse, text, walk
from cutegen.source_policy.headers import refused_header
from cutegen.source_policy.linkage import (
    foreign_functions,
    initialised_at_load,
    load_time_code,
)
from cutegen.source_policy.names import CALLED, DISTINCT, LIBRARIES
from cutegen.source_policy.violation import Violation

_WORD = re.compile(r"(?:std::)?[A-Za-z_]\w*")
_DEVICE_MACRO = re.compile(r"\b(?:CUTE|CUTLASS)_(?:HOST_)?(?:DEVICE|RTC)\b")
_OTHER_MACRO = re.compile(
    r"\b(?:CUTE|CUTLASS)_(?:UNROLL|NO_UNROLL|GCC_UNREACHABLE|PRAGMA_(?:NO_)?UNROLL|HOST|GLOBAL"
    r"|INLINE|INLINE_CONSTANT|GRID_CONSTANT)\b"
)
_MACROS = ("preproc_def", "preproc_function_def")
_QUOTED = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


def check_source(source: str) -> tuple[Violation, ...]:
    """Everything in a source that a candidate may not do, in the order of its lines.

    Never raises for what is written there: where the parser is lost, it goes on behind.
    """
    root = parse(_readable(source))
    found = {violation for check in _CHECKS for violation in check(root)}
    return tuple(sorted(found))


def _readable(source: str) -> str:
    """CuTe's attribute macros as what they mean, at equal length: lines and columns stay."""
    source = _DEVICE_MACRO.sub(lambda match: "__device__".ljust(len(match[0])), source)
    return _OTHER_MACRO.sub(lambda match: " " * len(match[0]), source)


def line_of(node: Node) -> int:
    """The line where a node begins."""
    return node.start_point[0] + 1


def _includes(root: Node) -> Iterator[Violation]:
    for node in walk(root):
        if node.type != "preproc_include":
            continue
        path = text(node.child_by_field_name("path")).strip('<>"')
        refused = refused_header(path)
        if refused:
            yield Violation(line_of(node), *refused)


def _names(root: Node) -> Iterator[Violation]:
    for line, word in _words(root):
        if LIBRARIES.fullmatch(word):
            yield Violation(
                line, f"{word} belongs to a library that does the work itself", "write the kernel"
            )
        for rule in DISTINCT:
            if rule.names.fullmatch(word):
                yield Violation(line, f"{word} {rule.what}", rule.advice)


def _words(root: Node) -> Iterator[tuple[int, str]]:
    """Identifiers, qualified by ``std`` where they are; those in macro bodies too."""
    for node in walk(root):
        line = line_of(node)
        if node.type in _MACROS:
            body = _QUOTED.sub(" ", text(node.child_by_field_name("value")))
            yield from ((line, word) for word in _WORD.findall(body))
        elif node.type == "qualified_identifier":
            yield line, re.sub(r"\s|^::", "", text(node)).partition("<")[0]
        elif node.child_count == 0 and node.type.endswith("identifier"):
            yield line, text(node)


def _calls(root: Node) -> Iterator[Violation]:
    """Calls of the operating system by plain names, unless the source defines that name."""
    own = {
        text(node.child_by_field_name("declarator")).partition("(")[0]
        for node in walk(root)
        if node.type in ("function_declarator", "init_declarator")
    }
    for node in walk(root):
        if node.type != "call_expression":
            continue
        written = re.sub(r"\s", "", text(node.child_by_field_name("function")))
        name = re.sub(r"^(?:std)?::", "", written)
        if CALLED.names.fullmatch(name) and (name != written or name not in own):
            yield Violation(line_of(node), f"{name} {CALLED.what}", CALLED.advice)


def _assembly(root: Node) -> Iterator[Violation]:
    """Inline assembly outside of device code: there is no PTX on the host."""
    for node in walk(root):
        if node.type == "gnu_asm_expression" and not _in_device_code(node):
            yield Violation(
                line_of(node),
                "inline assembly in host code",
                "PTX belongs into __device__ functions",
            )


def _in_device_code(node: Node) -> bool:
    above = node.parent
    while above is not None:
        if above.type == "ERROR":
            return True  # the parser is lost: it cannot say that this is the host
        if above.type in ("function_definition", "lambda_expression"):
            body = above.child_by_field_name("body")
            head = b" ".join(c.text or b"" for c in above.children if c != body)
            if b"__device__" in head or b"__global__" in head:
                return True
        above = above.parent
    return False


_CHECKS = (
    _includes,
    _names,
    _calls,
    _assembly,
    foreign_functions,
    load_time_code,
    initialised_at_load,
)
