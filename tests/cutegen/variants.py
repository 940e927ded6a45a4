"""A CUDA source written otherwise: reformatted, with other names, with other numbers."""

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from cutegen.cuda_tree import parse

_WHOLE = {"string_literal", "raw_string_literal", "char_literal", "system_lib_string"}
_NAMES = {"identifier", "type_identifier", "namespace_identifier"}
_FOREIGN = re.compile(r"cutegen_\w+|CutegenArgs|(CUTE|CUTLASS)_\w+|__\w+|for|if|while")
_CONSTANT = re.compile(r"((?:constexpr|define)\b[^=;\n()]*?\b\w+(?: = | ))(\d+)\b")
_MORE = re.compile(r"(, \w+ = )(\d+)\b")
_BOUNDS = re.compile(r"(__launch_bounds__\()(\d+)\b")
_ATOM = re.compile(r"(SM90_64x)(\d+)(x\d+_F)")
_SWIZZLE = re.compile(r"(Swizzle<)(\d)")


def reformatted(source: str) -> str:
    """Other line breaks, indentation and comments; the same tokens."""
    written = []
    column = 0
    for token in _tokens(parse(source)):
        if not token:
            continue
        if "\n" in token or token.startswith("#"):
            written.append(f"\n{token}\n")
            column = 0
        else:
            column += len(token)
            gap = " /* gemm(Swizzle, SM80_CP_ASYNC) */ " if column % 7 == 0 else " "
            gap = "\n\t  // atomicAdd, __shfl_sync, __cluster_dims__(2)\n" if column > 60 else gap
            column = 0 if column > 60 else column
            written.append(token + gap)
    return "".join(written)


def renamed(source: str) -> str:
    """Every name that the author chose gets another one."""
    root = parse(source)
    chosen = {name for name in _declared(root) if not _FOREIGN.fullmatch(name)}
    raw = bytearray(source.encode())
    spots = [n for n in _nodes(root) if n.type in _NAMES and _text(n) in chosen]
    for node in sorted(spots, key=lambda n: n.start_byte, reverse=True):
        raw[node.start_byte : node.end_byte] = f"q_{_text(node)[::-1]}_z".encode()
    return raw.decode()


def reparameterised(source: str) -> str:
    """Twice as large: named constants above one, launch bounds, the N of wgmma, swizzles."""

    def twice(match: re.Match[str]) -> str:
        number = int(match[2])
        rest = match[3] if match.re is _ATOM else ""
        return f"{match[1]}{number * 2 if number > 1 else number}{rest}"

    for pattern in (_CONSTANT, _MORE, _BOUNDS, _ATOM):
        source = pattern.sub(twice, source)
    return _SWIZZLE.sub(lambda match: f"{match[1]}{(int(match[2]) + 1) % 4 or 1}", source)


VARIANTS: dict[str, Callable[[str], str]] = {
    "reformatted": reformatted,
    "renamed": renamed,
    "reparameterised": reparameterised,
}


def _tokens(node: Node) -> Iterator[str]:
    if node.type == "comment":
        return
    if node.type in ("preproc_ifdef", "preproc_if") or node.type in _WHOLE:
        yield _text(node)
    elif node.type.startswith("preproc_"):
        yield _text(node).strip()
    elif not node.child_count:
        yield _text(node)
    else:
        for child in node.children:
            yield from _tokens(child)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _declared(root: Node) -> Iterator[str]:
    """Functions, variables, parameters, types, aliases, namespaces, template parameters."""
    for node in _nodes(root):
        match node.type:
            case (
                "function_declarator"
                | "init_declarator"
                | "declaration"
                | "parameter_declaration"
                | "optional_parameter_declaration"
                | "array_declarator"
                | "reference_declarator"
                | "pointer_declarator"
            ):
                yield from (
                    _text(child)
                    for child in node.named_children
                    if child.type == "identifier" and child != node.child_by_field_name("value")
                )
            case (
                "alias_declaration"
                | "struct_specifier"
                | "class_specifier"
                | "type_parameter_declaration"
                | "namespace_definition"
            ):
                yield from (
                    _text(child)
                    for child in node.named_children
                    if child.type in _NAMES and child != node.child_by_field_name("type")
                )
            case "structured_binding_declarator":
                yield from (_text(child) for child in node.named_children)
            case _:
                pass


def _text(node: Node) -> str:
    return node.text.decode() if node.text else ""
