"""Traces a reference to ATen operations with symbolic extents, touching no data.

Everything runs under ``FakeTensorMode``: a tensor of gigabytes costs nothing.
"""

import contextlib
import io
import logging
import math
import operator
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nn.attention import SDPBackend, sdpa_kernel

from cutegen.reference import FunctionModule
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


class _UntraceableError(Exception):
    """The graph holds something that the trace format cannot say."""


def trace(
    module: nn.Module, arguments: Sequence[TraceInput], state_names: Mapping[str, str]
) -> Trace | None:
    """Trace a module, or None if it cannot be traced.

    Args:
        module: The reference.
        arguments: Those of ``forward`` in order; tensors may be fake and are only looked at
            for their shape and dtype.
        state_names: Contract names of parameters and buffers by their names in the module.

    Raises:
        SpecError: The module computes with a tensor that the contract cannot hand over.
    """
    for dynamic in (True, False):
        try:
            program = _export(module, [argument.value for argument in arguments], dynamic)
            found = _read(program, arguments, state_names)
        except SpecError:
            raise
        except Exception:  # noqa: BLE001, S112 - export fails in countless ways; all mean "no"
            continue
        return found._replace(ops=_name_scalars(module, arguments, found.ops, state_names))
    return None


def _export(module: nn.Module, values: Sequence[Tensor | float], dynamic: bool) -> ExportedProgram:
    with (
        _quiet(),
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),  # the fused ones do not look whether shapes agree
        FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True),
    ):
        args = tuple(
            torch.empty(value.shape, dtype=value.dtype) if isinstance(value, Tensor) else value
            for value in values
        )
        shapes = tuple(
            [Dim.AUTO if extent > 1 else Dim.STATIC for extent in value.shape]
            if isinstance(value, Tensor)
            else None
            for value in args
        )
        variadic = isinstance(module, FunctionModule)
        program: ExportedProgram = export(
            module,
            args,
            strict=False,
            dynamic_shapes=((shapes,) if variadic else shapes) if dynamic else None,
        )
        if any(_is_in_place(node) for node in program.graph.nodes):
            # Functional form, with the operations kept whole; it costs more than the export.
            program = program.run_decompositions({})
        return program


def _is_in_place(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable  # noqa: SLF001 - no public way


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Export reports what it cannot trace at length; here that is no news."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _read(
    program: ExportedProgram, arguments: Sequence[TraceInput], state_names: Mapping[str, str]
) -> Trace:
    """Turn an exported graph into plain data."""
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
            raise _UntraceableError(str(spec))
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
            raise _UntraceableError(str(node.target))
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
        raise _UntraceableError(repr(argument))

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


def _name_scalars(
    module: nn.Module,
    arguments: Sequence[TraceInput],
    ops: tuple[TracedOp, ...],
    state_names: Mapping[str, str],
) -> tuple[TracedOp, ...]:
    """Replace the value of each scalar argument by a reference to it.

    Export bakes scalars in. Tracing once more with one scalar nudged shows which constants
    follow it; a constant that is computed from a scalar in Python stays a constant.
    """
    for index, argument in enumerate(arguments):
        if isinstance(argument.value, Tensor | bool):
            continue
        step = 1 if isinstance(argument.value, int) else 0.001953125
        nudged = list(arguments)
        nudged[index] = argument._replace(value=argument.value + step)
        try:
            program = _export(module, [each.value for each in nudged], dynamic=True)
            others = _read(program, nudged, state_names).ops
        except Exception:  # noqa: BLE001, S112 - the nudged value is invalid: it stays baked in
            continue
        if [op.op for op in others] != [op.op for op in ops]:
            continue
        pair = _Pair(argument.name, argument.value, argument.value + step)
        ops = tuple(
            op.model_copy(
                update={
                    "args": tuple(map(pair.merge, op.args, other.args)),
                    "kwargs": {
                        key: pair.merge(value, other.kwargs[key])
                        for key, value in op.kwargs.items()
                    },
                }
            )
            for op, other in zip(ops, others, strict=True)
        )
    return ops


class _Pair(NamedTuple):
    """A scalar with its two values."""

    name: str
    value: float
    nudged: float

    def merge(self, left: JsonValue, right: JsonValue) -> JsonValue:
        """``left``, with a reference wherever both sides show the scalar's values."""
        if isinstance(left, list) and isinstance(right, list):
            return [self.merge(*items) for items in zip(left, right, strict=True)]
        if left == self.value and right == self.nudged:
            return {"ref": self.name}
        return left
