"""CUDA C++ as a syntax tree: functions, words, constants and launches of one source.

Sources are whatever a model wrote, so nothing here raises because of what they hold: where
the parser finds an error it goes on behind it.
"""

import re
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node

from cutegen.cuda_constants import Constants, evaluate, named_constants
from cutegen.cuda_flow import Flow
from cutegen.cuda_tree import parse, text, walk

# CuTe's attribute macros are no CUDA, and would make the parser lose the statement behind them.
_ATTRIBUTE_MACRO = re.compile(
    r"\b(CUTE|CUTLASS)_(UNROLL|NO_UNROLL|GCC_UNREACHABLE|PRAGMA_UNROLL|PRAGMA_NO_UNROLL|"
    r"HOST_DEVICE|DEVICE|HOST|GLOBAL|INLINE|HOST_RTC|INLINE_CONSTANT|GRID_CONSTANT)\b"
)
_MEANINGS = {"DEVICE": "__device__", "HOST_DEVICE": "__device__", "GLOBAL": "__global__"}
# Strings are matched so that nothing inside of them is.
_COMMENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<kept>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')""", re.DOTALL
)
# A kernel's attribute with arguments looks like a function's name and parameters.
_CLUSTER_DIMS = re.compile(r"\b__cluster_dims__\s*\((?P<extents>[^()]*)\)")
# No design, and in some places more than the parser can take.
_ALIGNMENT = re.compile(r"\b(__align__|alignas)\s*\([^()]*\)")


class Launch(NamedTuple):
    """One ``<<<…>>>``: what is known of the block size and the dynamic shared memory."""

    threads: int | None
    dynamic_smem_bytes: int | None


class CudaSource:
    """A parsed source."""

    def __init__(self, source: str) -> None:
        """Parse it; a source with errors is parsed around them."""
        blanked = _ATTRIBUTE_MACRO.sub(
            lambda match: _MEANINGS.get(match[2], "").ljust(len(match[0])), _uncommented(source)
        )
        self.cluster_dims: list[str] = []
        blanked = _ALIGNMENT.sub(lambda match: " " * len(match[0]), blanked)
        self.root = parse(_CLUSTER_DIMS.sub(self._take_cluster_dims, blanked))
        self._flows: dict[int, Flow] = {}

    def _take_cluster_dims(self, match: re.Match[str]) -> str:
        self.cluster_dims.append(match["extents"])
        return " " * len(match[0])

    def flow(self, function: Node) -> Flow:
        """The assignments of one of the source's functions."""
        if function.id not in self._flows:
            self._flows[function.id] = Flow(function)
        return self._flows[function.id]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every identifier and keyword in use; no comments, strings or include paths."""
        return frozenset(
            text(node)
            for node in walk(self.root)
            if not node.child_count and node.type not in ("string_content", "system_lib_string")
        )

    @cached_property
    def assembly(self) -> str:
        """All inline PTX, one string."""
        return " ".join(
            text(node)
            for statement in walk(self.root)
            if statement.type == "gnu_asm_expression"
            for node in walk(statement)
            if node.type == "string_content"
        )

    @cached_property
    def kernels(self) -> tuple[Node, ...]:
        """Definitions of ``__global__`` functions."""
        return tuple(node for node in self._functions if _has(node, "__global__"))

    @cached_property
    def device_functions(self) -> tuple[Node, ...]:
        """Definitions of kernels and of functions that they may call."""
        return tuple(
            node for node in self._functions if _has(node, "__global__") or _has(node, "__device__")
        )

    @cached_property
    def _functions(self) -> tuple[Node, ...]:
        return tuple(node for node in walk(self.root) if node.type == "function_definition")

    @property
    def constants(self) -> dict[str, int]:
        """Named integers known at compile time."""
        return self._constants.values

    @property
    def parameters(self) -> dict[str, int]:
        """Those of the constants that somebody chose."""
        chosen = self._constants.values.keys() - self._constants.derived
        return {name: value for name, value in self.constants.items() if name in chosen}

    @cached_property
    def _constants(self) -> Constants:
        return named_constants(self.root)

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """Every kernel launch in source order."""
        shapes: dict[str, Node] = {}
        found = []
        for node in walk(self.root):
            if node.type == "declaration" and text(node.child_by_field_name("type")) == "dim3":
                for child in node.children:
                    if child.type == "init_declarator":
                        value = child.child_by_field_name("value")
                        if value is not None:
                            shapes[text(child.child_by_field_name("declarator"))] = value
            if node.type == "kernel_call_syntax":
                arguments = [child for child in node.named_children if child.type != "comment"]
                threads = self._threads(arguments[1], shapes) if len(arguments) > 1 else None
                smem = evaluate(arguments[2], self.constants) if len(arguments) > 2 else 0  # noqa: PLR2004 - <<<grid, block, bytes>>>
                found.append(Launch(threads, smem))
        return tuple(found)

    def _threads(self, block: Node, shapes: dict[str, Node]) -> int | None:
        """Threads of a block given as a number, a ``dim3`` or the name of one."""
        shape = shapes.get(text(block), block)
        if shape.type == "call_expression":
            shape = shape.child_by_field_name("arguments") or shape
        if shape.type not in ("argument_list", "initializer_list"):
            return evaluate(shape, self.constants)
        count = 1
        for extent in shape.named_children:
            number = evaluate(extent, self.constants)
            if number is None:
                return None
            count *= number
        return count


def _uncommented(source: str) -> str:
    """The source with blanks for its comments, and the same lines."""
    return _COMMENT.sub(
        lambda match: match["kept"] or re.sub(r"[^\n]", " ", match[0]),
        source,
    )


def _has(function: Node, qualifier: str) -> bool:
    body = function.child_by_field_name("body")
    return any(
        text(node) == qualifier
        for child in function.children
        if child != body
        for node in walk(child)
    )
