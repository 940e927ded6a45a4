"""What a program over rows is made of: operands, accumulators, values, readings, outputs."""

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.operands import Operand
from cutegen.agents.models.playbook.reductions import REDUCTIONS, is_matrix_vector
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import KernelSpec, TensorArg, TracedOp


class Column(NamedTuple):
    """An operand that has a value per element of the row, or one per column for all rows."""

    name: str
    tensor: TensorArg
    dense: bool


class RowOperand(NamedTuple):
    """An operand with one value per row (or one for all)."""

    name: str
    tensor: TensorArg
    single: bool


class Accumulator(NamedTuple):
    """One accumulator of a reading, and the value it is fed with."""

    name: str
    type: str
    value: str


class Statement(NamedTuple):
    """One value: ``T const name = expression``, of an element or of the row."""

    name: str
    type: str
    expression: str
    needs: frozenset[str]
    after: int
    spread: bool


class Reading(NamedTuple):
    """One pass over the row that reduces it."""

    accumulators: tuple[Accumulator, ...]
    statements: tuple[Statement, ...]
    columns: tuple[Column, ...]
    conclusions: tuple[Statement, ...]


class Output(NamedTuple):
    """An output, and the value it gets: one per element, or one per row."""

    tensor: TensorArg
    value: str
    spread: bool


def row_shape(spec: KernelSpec) -> tuple[int, ...]:
    """The shape of what the first reduction reduces.

    Raises:
        UnsupportedError: Its rows have one element, or none.
    """
    leaves = {tensor.name: tensor.shape for tensor in spec.timed.tensors}
    op = next(
        op for op in spec.trace if base_name(op) in REDUCTIONS or is_matrix_vector(op, leaves)
    )
    known = leaves | {each.name: each.shape for each in spec.trace}
    shape = known.get(references(op.args[:1])[0], ()) if references(op.args[:1]) else ()
    if not shape or shape[-1] <= 1:
        raise UnsupportedError(op.op, f"there are no rows in {list(shape)}")
    return shape


def is_spread(leaf: Operand) -> bool:
    """Whether an operand has a value per element of the row."""
    return leaf.tensor.numel > 1 and leaf.dims[-1] is not None


def same_rows(op: TracedOp, shape: tuple[int, ...]) -> bool:
    """Whether a view of values of the row only adds or drops the reduced dimension."""
    dropped = [extent for extent in op.shape if extent != 1]
    return dropped == [extent for extent in shape if extent != 1]


def references(values: Iterable[JsonValue]) -> list[str]:
    """The names of traced values among arguments."""
    return [str(value["ref"]) for value in values if isinstance(value, dict) and "ref" in value]


def parts(statement: str) -> tuple[str, str]:
    """Type and expression of a statement of the chain."""
    declared, expression = statement.split(" = ", 1)
    return declared.split()[0], expression.removesuffix(";")
