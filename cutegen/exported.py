"""Reads an exported program as plain data: the trace that a spec carries."""

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from pydantic import JsonValue
from torch import Tensor
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, Node

from cutegen.spec import DType, TracedOp
from cutegen.spec_error import SpecError

Extent = int | str
"""An extent of an input: fixed, or a symbol that all equal extents share."""

_COPIES = (
    torch.ops.aten.clone.default,
    torch.ops.aten.alias.default,
    torch.ops.aten.detach.default,
    torch.ops.aten.lift_fresh_copy.default,
)
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


class Trace(NamedTuple):
    """What a trace found.

    ``extents`` has one entry per tensor input. ``ranges`` gives the least and the largest
    extent that the traced path allows for a symbol. ``results`` names the outputs.
    """

    ops: tuple[TracedOp, ...]
    results: tuple[str, ...]
    extents: tuple[tuple[Extent, ...], ...]
    ranges: Mapping[str, tuple[int, int]]


class TraceInput(NamedTuple):
    """One argument of ``forward`` or of the state, by its contract name."""

    name: str
    value: Tensor | float


class UntraceableError(Exception):
    """The graph holds something that the trace format cannot say."""


def read_program(
    program: ExportedProgram, arguments: Sequence[TraceInput], state_names: Mapping[str, str]
) -> Trace:
    """Turn an exported program into plain data.

    Args:
        program: The program; its graph is functional.
        arguments: Those of ``forward`` in order.
        state_names: Contract names of parameters and buffers by their names in the module.

    Raises:
        SpecError: The module computes with a tensor that the contract cannot hand over.
        UntraceableError: The trace format cannot say what it does.
    """
    graph = program.graph
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    names, literals = _input_names(program, arguments, state_names)
    sizes: dict[str, str] = {}
    shapes: list[torch.Size] = []
    for spec in program.graph_signature.input_specs:
        value = placeholders[spec.arg.name].meta.get("val")
        if spec.kind is not InputKind.USER_INPUT or not isinstance(value, Tensor):
            continue
        shapes.append(value.shape)
        for index, extent in enumerate(value.shape):
            field = f"{names[spec.arg.name]}_shape[{index}]"
            sizes.setdefault(str(extent), field)
    results = [
        spec.arg.name
        for spec in program.graph_signature.output_specs
        if spec.kind is OutputKind.USER_OUTPUT
    ]
    reader = _Reader(names, literals, sizes)
    nodes = (node for node in _needed(graph, results) if _is_operation(node))
    ops = tuple(reader.read(node) for node in nodes if not reader.is_literal(node))
    ranges = {
        str(symbol): (int(limits.lower), int(limits.upper) if limits.upper.is_Integer else 2**62)
        for symbol, limits in program.range_constraints.items()
        if limits.lower.is_Integer
    }
    return Trace(ops, tuple(reader.names[name] for name in results), _extents(shapes), ranges)


def _input_names(
    program: ExportedProgram, arguments: Sequence[TraceInput], state_names: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, JsonValue]]:
    """Contract names of the placeholders, and the values of one-element constants."""
    names: dict[str, str] = {}
    literals: dict[str, JsonValue] = {}
    user_inputs = iter(arguments)
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            names[spec.arg.name] = next(user_inputs).name
        elif spec.target in state_names:
            names[spec.arg.name] = state_names[spec.target]
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            constant = program.constants[spec.target or ""]
            assert isinstance(constant, Tensor)
            if constant.numel() != 1:
                raise SpecError(
                    f"the reference computes with a constant tensor of shape "
                    f"{tuple(constant.shape)} ({spec.target}) that is neither an input, a "
                    "parameter nor a buffer, so no kernel could be given it; register it in "
                    "__init__ with self.register_buffer(name, tensor)"
                )
            literals[spec.arg.name] = _number(constant.item())
        else:
            raise UntraceableError(str(spec))
    return names, literals


def _extents(shapes: Sequence[torch.Size]) -> tuple[tuple[Extent, ...], ...]:
    """Fixed extents as numbers, free ones as symbols.

    Extents that hang together by a formula, such as ``2*s0`` and ``s0``, are fixed as they
    are at the timed case.
    """
    texts = {str(extent) for shape in shapes for extent in shape if not isinstance(extent, int)}
    formulas = {text for text in texts if not _SYMBOL.fullmatch(text)}
    fixed = formulas | {symbol for formula in formulas for symbol in _SYMBOL.findall(formula)}
    return tuple(
        tuple(
            _hint(extent) if isinstance(extent, int) or str(extent) in fixed else str(extent)
            for extent in shape
        )
        for shape in shapes
    )


def _needed(graph: Graph, results: Sequence[str]) -> Iterator[Node]:
    """The nodes that the outputs depend on, in execution order."""
    by_name = {node.name: node for node in graph.nodes}
    pending, needed = [by_name[name] for name in results], set[Node]()
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending.extend(node.all_input_nodes)
    return (node for node in graph.nodes if node in needed)


def _is_operation(node: Node) -> bool:
    """Whether a node computes a tensor, rather than an extent."""
    value = node.meta.get("val")
    return node.op == "call_function" and not isinstance(value, torch.SymInt | torch.SymBool)


class _Reader:
    """Reads nodes in order; names grow as operations are read."""

    def __init__(
        self,
        names: Mapping[str, str],
        literals: Mapping[str, JsonValue],
        sizes: Mapping[str, str],
    ) -> None:
        self.names = dict(names)
        self._literals = dict(literals)
        self._sizes = sizes
        self._taken = set(names.values())

    def is_literal(self, node: Node) -> bool:
        """Whether a node only passes a one-element constant on; then it is one as well."""
        source = node.args[0] if node.args else None
        if not isinstance(source, Node) or source.name not in self._literals:
            return False
        if node.target in _COPIES:
            self._literals[node.name] = self._literals[source.name]
        return node.name in self._literals

    def read(self, node: Node) -> TracedOp:
        """One node as data."""
        if node.target is operator.getitem:
            op, name = "getitem", "getitem"
        elif isinstance(node.target, OpOverload) and node.target.namespace == "aten":
            op, name = str(node.target), str(node.target).split(".")[1]
        else:
            raise UntraceableError(str(node.target))
        value = node.meta["val"]
        first = value[0] if isinstance(value, tuple | list) else value
        traced = TracedOp(
            name=self._fresh(name.lstrip("_")),
            op=op,
            args=tuple(self._argument(arg) for arg in node.args),
            kwargs={key: self._argument(arg) for key, arg in node.kwargs.items()},
            shape=tuple(_hint(extent) for extent in first.shape),
            dtype=DType(str(first.dtype).removeprefix("torch.")),
        )
        self.names[node.name] = traced.name
        return traced

    def _fresh(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._taken:
            count += 1
            candidate = f"{name}_{count}"
        self._taken.add(candidate)
        return candidate

    def _argument(self, argument: object) -> JsonValue:  # noqa: PLR0911 - one line per kind
        match argument:
            case Node() if isinstance(argument.meta.get("val"), torch.SymInt):
                return self._size(argument.meta["val"])
            case Node() if argument.name in self._literals:
                return self._literals[argument.name]
            case Node():
                return {"ref": self.names[argument.name]}
            case torch.SymInt():
                return self._size(argument)
            case None | bool() | int() | str():
                return argument
            case float():
                return _number(argument)
            case list() | tuple():
                return [self._argument(item) for item in argument]
            case torch.dtype() | torch.layout() | torch.memory_format() | torch.device():
                return str(argument).removeprefix("torch.")
        raise UntraceableError(repr(argument))

    def _size(self, value: torch.SymInt) -> JsonValue:
        """An extent as a formula of the contract's shape fields."""
        return {
            "size": _SYMBOL.sub(
                lambda match: self._sizes.get(match[0], match[0]), str(value.node.expr)
            )
        }


def _hint(extent: int | torch.SymInt) -> int:
    """The extent at the timed case."""
    return int(extent.node.hint) if isinstance(extent, torch.SymInt) else int(extent)


def _number(value: float) -> JsonValue:
    """A number that JSON can hold: infinities and NaN as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
