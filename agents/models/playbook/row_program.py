"""A traced function as a program over rows: readings that reduce a row, then one that writes it.

Every value of the trace is either *spread* (one per element) or *of the row*; and it is known
``after`` so many readings. A value of the row is computed once per row, a spread one anew in
each reading that needs it.
"""

from collections.abc import Iterable, Sequence
from math import prod

from pydantic import JsonValue

from cutegen.agents.models.playbook.chain import Chain, base_name
from cutegen.agents.models.playbook.operands import Operand, Operands
from cutegen.agents.models.playbook.reductions import REDUCTIONS, is_matrix_vector, lowered
from cutegen.agents.models.playbook.row_values import (
    Accumulator,
    Column,
    Output,
    Reading,
    RowOperand,
    Statement,
    is_spread,
    parts,
    references,
    row_shape,
    same_rows,
)
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, KernelSpec, TensorArg, TracedOp

_RESHAPES = frozenset(
    {"view", "reshape", "unsafe_view", "unsqueeze", "squeeze", "expand", "expand_as"}
)


class RowProgram:
    """What the templates write of a function."""

    def __init__(self, spec: KernelSpec, compute: DType, *, online: bool) -> None:
        """Follow the trace.

        Raises:
            UnsupportedError: It is no program over rows that the playbook can write.
        """
        self.online = online
        self.shape = row_shape(spec)
        self._spec = spec
        self._operands = Operands(spec, self.shape)
        views = {op.name for op in spec.trace if self._operands.is_view(op)}
        names = {name: f"x_{name}" for name in self._operands.names()}
        names |= {scalar.name: f"s_{scalar.name}" for scalar in spec.scalars}
        self._chain = Chain(names, compute)
        self._leaves = {f"x_{name}": name for name in self._operands.names()}
        self._shapes = {op.name: op.shape for op in spec.trace if op.name in views}
        self._shapes |= {t.name: t.shape for t in spec.timed.of("input", "parameter", "buffer")}
        self._statements: dict[str, Statement] = {}
        self._fed: dict[int, list[Accumulator]] = {}
        for op in spec.trace:
            if op.name not in views:
                self._follow(op)
        self.outputs = tuple(self._output(*pair) for pair in self._results())
        self.readings = tuple(self._reading(number) for number in range(len(self._fed)))
        self.before = self._of_the_row(0)
        self.written = tuple(output for output in self.outputs if output.spread)
        self.row_results = tuple(output for output in self.outputs if not output.spread)
        self.writing = self._needed([output.value for output in self.written])
        self.writing_columns = self._columns([output.value for output in self.written])

    @property
    def suffix(self) -> str:
        """Suffix of C's math functions."""
        return self._chain.suffix

    @property
    def accumulators(self) -> frozenset[str]:
        """The types of accumulator in use."""
        return frozenset(each.type for fed in self._fed.values() for each in fed)

    @property
    def exponential(self) -> bool:
        """Whether some value is an exponential of a distance from the maximum."""
        statements = (value.expression for value in self._statements.values())
        return "ExpSum" in self.accumulators or any("exponential(" in each for each in statements)

    @property
    def members(self) -> tuple[Statement, ...]:
        """Every value of the row."""
        return tuple(value for value in self._statements.values() if not value.spread)

    @property
    def row_operands(self) -> tuple[RowOperand, ...]:
        """Operands with one value per row."""
        used = {need for value in self._statements.values() for need in value.needs}
        used |= {output.value for output in self.outputs}
        found = ((cpp, self._leaf(name)) for cpp, name in self._leaves.items() if cpp in used)
        return tuple(
            RowOperand(cpp, leaf.tensor, leaf.tensor.numel == 1)
            for cpp, leaf in found
            if not is_spread(leaf)
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every operand that some pass reads element by element."""
        readers = [*(reading.columns for reading in self.readings), self.writing_columns]
        return tuple(dict.fromkeys(column for columns in readers for column in columns))

    @property
    def dense(self) -> tuple[Column, ...]:
        """Operands with a value per element: what a kernel may keep of a row."""
        return tuple(column for column in self.columns if column.dense)

    @property
    def shares(self) -> bool:
        """Whether rows are only reduced, once, and share operands with a value per column."""
        shared = len(self.columns) > len(self.dense)
        return shared and self.passes == 1 and not (self.row_operands or self.before)

    @property
    def passes(self) -> int:
        """How often the row is gone through."""
        return len(self.readings) + bool(self.written)

    # what reductions are lowered into

    def operand(self, value: JsonValue, op: TracedOp) -> str:
        """The C++ name of an operand."""
        reference = str(value["ref"]) if isinstance(value, dict) and "ref" in value else ""
        if reference not in self._chain.names:
            raise UnsupportedError(op.op, f"its operand {value} is no value of the row")
        return self._chain.names[reference]

    def number(self, op: TracedOp, name: str, position: int, default: float) -> str:
        """An optional numeric argument as C++."""
        return self._chain.number(op, name, position, default)

    def define(self, expression: str, *needs: str) -> str:
        """A new value, computed from others; its name."""
        name = self._chain.define(expression)
        self._note(name, needs)
        return name

    def reduce(self, accumulator: str, value: str, fields: Sequence[str]) -> tuple[str, ...]:
        """Feed an accumulator with a value per element; the names of its fields."""
        after, spread = self._place(value)
        if not spread:
            raise UnsupportedError(accumulator, f"{value} is the same along the row")
        fed = self._fed.setdefault(after, [])
        same = [each for each in fed if (each.type, each.value) == (accumulator, value)]
        name = same[0].name if same else f"a{len(fed)}"
        if not same:
            fed.append(Accumulator(name, accumulator, value))
        results = []
        for field in fields:
            result = self._chain.define(f"from.{name}.{field}")
            self._statements[result] = Statement(
                result, "T", f"from.{name}.{field}", frozenset(), after + 1, spread=False
            )
            results.append(result)
        return tuple(results)

    # following the trace

    def _follow(self, op: TracedOp) -> None:
        base = base_name(op)
        if is_matrix_vector(op, self._shapes):
            self._chain.names[op.name] = self._matrix_vector(op)
        elif base in REDUCTIONS and not self._is_elementwise(op):
            self._check_reduced(op)
            self._chain.names[op.name] = lowered(self, op, len(self.shape))
        elif base == "getitem":
            if op.args[1] != 0:
                raise UnsupportedError(op.op, "designs give values of a row, not their places")
            self._chain.names[op.name] = self.operand(op.args[0], op)
        elif base in _RESHAPES:
            self._reshape(op)
        else:
            self._check_aligned(op)
            before = len(self._chain.statements)
            self._chain.used.clear()
            self._chain.add(op)
            if len(self._chain.statements) > before:
                needs = (self._chain.names[name] for name in self._chain.used)
                self._note(self._chain.names[op.name], needs)
        self._shapes[op.name] = op.shape

    def _matrix_vector(self, op: TracedOp) -> str:
        """The sum along a row of a matrix, times the column that the other factor is."""
        matrix, vector = references(op.args)
        along = f"{vector}_along"
        self._operands.view(along, vector, self.shape[-1:])
        self._leaves[f"x_{along}"] = along
        x, y = self.operand(op.args[0], op), f"x_{along}"
        if self._shapes[matrix] != self.shape:
            raise UnsupportedError(op.op, f"{matrix} has other rows than what is reduced first")
        (total,) = self.reduce("Sum", self.define(f"{x} * {y}", x, y), ("sum",))
        return total

    @staticmethod
    def _is_elementwise(op: TracedOp) -> bool:
        """``max`` and ``min`` of two tensors are no reductions."""
        return len(op.args) > 1 and isinstance(op.args[1], dict) and base_name(op) in ("max", "min")

    def _check_reduced(self, op: TracedOp) -> None:
        for reference in references(op.args[:1]):
            if self._shapes.get(reference) != self.shape:
                raise UnsupportedError(op.op, f"it reduces {reference}, which is no whole row")

    def _reshape(self, op: TracedOp) -> None:
        source = self.operand(op.args[0], op)
        _, spread = self._place(source)
        shape = self._shapes[references(op.args[:1])[0]]
        keeps = op.shape == shape if spread else op.shape == self.shape or same_rows(op, shape)
        if not keeps:
            raise UnsupportedError(op.op, "a view in the middle of the function has no design")
        self._chain.names[op.name] = source

    def _check_aligned(self, op: TracedOp) -> None:
        """Refuse a value of the row that would be broadcast along other dimensions."""
        whole = op.shape == self.shape
        kept = (*self.shape[:-1], 1)
        for reference in references([*op.args, *op.kwargs.values()]):
            shape = self._shapes.get(reference, ())
            leaf = reference in self._operands.names()
            fits = shape in (self.shape, kept) if whole else shape == op.shape
            if whole and leaf:
                fits = True  # Operands aligns it with the row
            if not (fits or prod(shape) == 1):
                raise UnsupportedError(op.op, f"{reference} as {list(shape)} has no place in a row")
        if not whole and op.shape != kept and op.shape != self.shape[:-1] and prod(op.shape) != 1:
            raise UnsupportedError(op.op, f"its result {list(op.shape)} is no row, nor of rows")

    def _note(self, name: str, needs: Iterable[str]) -> None:
        needed = frozenset(needs)
        places = [self._place(need) for need in needed]
        kind, expression = parts(self._chain.statements[-1])
        self._statements[name] = Statement(
            name,
            kind,
            expression,
            needed,
            max((after for after, _ in places), default=0),
            any(spread for _, spread in places),
        )

    def _place(self, name: str) -> tuple[int, bool]:
        """After how many readings a value is known, and whether it is spread."""
        if name in self._statements:
            return self._statements[name].after, self._statements[name].spread
        if name in self._leaves:
            return 0, is_spread(self._leaf(self._leaves[name]))
        return 0, False  # a scalar, or a number

    def _leaf(self, name: str) -> Operand:
        leaf = self._operands.leaf(name)
        if leaf.tensor.dtype is DType.BOOL:
            raise UnsupportedError(name, "row programs read floating types")
        leading = leaf.dims[:-1]
        follows = leading == tuple(range(len(leading)))
        if leaf.tensor.numel == 1 or leaf.dense or (follows and leaf.dims[-1] is None):
            return leaf
        if leaf.dims[-1] is not None and all(dim is None for dim in leading):
            return leaf
        raise UnsupportedError(name, "it is broadcast along some of the rows only")

    # the passes

    def _of_the_row(self, after: int) -> tuple[Statement, ...]:
        return tuple(v for v in self._statements.values() if not v.spread and v.after == after)

    def _needed(self, values: Iterable[str]) -> tuple[Statement, ...]:
        """The spread statements behind some values, in the order of the trace."""
        wanted = set(values)
        for statement in reversed(self._statements.values()):
            if statement.name in wanted and statement.spread:
                wanted |= statement.needs
        return tuple(v for v in self._statements.values() if v.name in wanted and v.spread)

    def _columns(self, values: Sequence[str]) -> tuple[Column, ...]:
        """The operands that a pass reads element by element."""
        used = set(values) | {need for each in self._needed(values) for need in each.needs}
        found = ((cpp, self._leaf(name)) for cpp, name in self._leaves.items() if cpp in used)
        return tuple(Column(cpp, leaf.tensor, leaf.dense) for cpp, leaf in found if is_spread(leaf))

    def _reading(self, number: int) -> Reading:
        fed = self._fed.get(number, [])
        values = [each.value for each in fed]
        return Reading(
            tuple(fed), self._needed(values), self._columns(values), self._of_the_row(number + 1)
        )

    def _results(self) -> Iterable[tuple[TensorArg, str]]:
        return zip(self._spec.timed.of("output"), self._spec.results, strict=True)

    def _output(self, tensor: TensorArg, name: str) -> Output:
        spread = tensor.shape == self.shape
        if not spread and tensor.numel != prod(self.shape[:-1]):
            raise UnsupportedError("forward", f"no design writes {list(tensor.shape)} of rows")
        if not tensor.dtype.is_floating:
            raise UnsupportedError("forward", f"no row program writes {tensor.dtype.value}")
        return Output(tensor, self._chain.names[name], spread)
