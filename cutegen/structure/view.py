"""A source as the rules of the fingerprint look at it: what lies where, and what is multiplied."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node

from cutegen.cuda_flow import Flow, arguments_of, base_name, callee, declared
from cutegen.cuda_loops import accumulations, factors_of
from cutegen.cuda_memory import name_of, shared_names
from cutegen.cuda_syntax import CudaSource
from cutegen.cuda_tree import text, walk

FRAGMENTS = re.compile(
    r"make_fragment_like|make_fragment_[ABC]|partition_fragment_[ABC]|make_rmem_tensor|make_tensor_like"
)
_PTX_PRODUCT = re.compile(r"mma\.sync|wgmma\.mma_async|tcgen05\.mma")
_WARP = re.compile(r"canonical_warp_\w+|elect_one_sync|block_rank_in_cluster")
_GEMM_OPERANDS = 3  # gemm([mma,] [D,] A, B, C)


class Product(NamedTuple):
    """One statement that multiplies and accumulates; ``factors`` are unknown for inline PTX."""

    function: Node
    node: Node
    factors: tuple[Node, ...]
    targets: frozenset[str]


class View:
    """A parsed source, with what several rules ask of it."""

    def __init__(self, source: CudaSource) -> None:
        """Look at a source; each question is answered when it is first asked."""
        self.source = source
        self.functions = source.device_functions
        self.by_name = {name_of(function): function for function in self.functions}

    def any(self, pattern: re.Pattern[str]) -> bool:
        """Whether some word of the source is one that CUDA, CuTe or CUTLASS gives a meaning."""
        return any(pattern.fullmatch(word) for word in self.source.words)

    def flow(self, function: Node) -> Flow:
        """The assignments of a function."""
        return self.source.flow(function)

    def shared(self, function: Node) -> frozenset[str]:
        """Names that lead into shared memory, and values read from it."""
        return self._shared.get(function.id, frozenset()) - self.fragments(function)

    def fragments(self, function: Node) -> frozenset[str]:
        """Tensors and arrays in registers."""
        if function.id not in self._fragments:
            self._fragments[function.id] = self.flow(function).made_by(FRAGMENTS) | frozenset(
                _register_arrays(function)
            )
        return self._fragments[function.id]

    def arrays(self, function: Node) -> frozenset[str]:
        """Places in shared memory, without the values that are read from there."""
        read = {
            name
            for node in walk(function)
            if node.type == "init_declarator"
            and (value := node.child_by_field_name("value")) is not None
            and self.flow(function).is_element(value)
            for name in declared(node.child_by_field_name("declarator"))
        }
        return self.shared(function) - read

    def of_thread(self, function: Node) -> frozenset[str]:
        """Names that differ from thread to thread."""
        flow = self.flow(function)
        return flow.derived({"threadIdx"} | flow.made_by(_WARP))

    @cached_property
    def smem(self) -> str:
        """``none``, ``static`` or ``dynamic``."""
        kind = "none"
        for node in walk(self.source.root):
            if node.type in ("declaration", "field_declaration"):
                words = {text(child) for child in node.children}
                if "__shared__" in words:
                    if "extern" in words:
                        return "dynamic"
                    kind = "static"
        return kind

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """Every accumulation of products in device code, in loops or by CuTe, WMMA or PTX."""
        summed = {node.id: node for node in accumulations(self.source)}
        found = []
        for function in self.functions:
            for node in walk(function):
                if node.id in summed:
                    target = frozenset({base_name(node.child_by_field_name("left"))})
                    found.append(Product(function, node, factors_of(node) or (), target))
                elif node.type == "call_expression":
                    operands = self._operands(node)
                    if operands:
                        target = frozenset({base_name(operands[-1])})
                        found.append(Product(function, node, tuple(operands[:2]), target))
                elif node.type == "gnu_asm_expression" and _PTX_PRODUCT.search(text(node)):
                    found.append(Product(function, node, (), frozenset(_asm_outputs(node))))
        return tuple(found)

    @cached_property
    def _shared(self) -> dict[int, frozenset[str]]:
        return shared_names(self.source)

    @cached_property
    def _fragments(self) -> dict[int, frozenset[str]]:
        return {}

    def _operands(self, call: Node) -> list[Node]:
        """A, B and C of CuTe's ``gemm`` or WMMA's ``mma_sync``; empty for other calls."""
        name = callee(call)
        arguments = arguments_of(call)
        if name in self.by_name or len(arguments) < _GEMM_OPERANDS:
            return []
        if name == "gemm":
            return arguments[-3:]
        return [*arguments[1:3], arguments[0]] if name == "mma_sync" else []


def _register_arrays(function: Node) -> Iterator[str]:
    """Arrays of a function, and ``make_tensor<T>(…)``, which has no pointer to point elsewhere."""
    for node in walk(function):
        if node.type == "declaration":
            if any(text(child) == "__shared__" for child in node.children):
                continue
            for child in node.children_by_field_name("declarator"):
                inner = child
                if child.type == "init_declarator":
                    inner = child.child_by_field_name("declarator") or child
                value = child.child_by_field_name("value")
                owns = value is not None and _owns_memory(value)
                if inner.type == "array_declarator" or owns:
                    yield from declared(inner)


def _owns_memory(value: Node) -> bool:
    function = value.child_by_field_name("function") if value.type == "call_expression" else None
    return (
        function is not None
        and function.type == "template_function"
        and text(function.child_by_field_name("name")) == "make_tensor"
    )


def _asm_outputs(statement: Node) -> Iterator[str]:
    for node in walk(statement):
        if node.type == "gnu_asm_output_operand":
            yield base_name(node.child_by_field_name("value"))
