"""ATen reductions along the last dimension, as accumulators and what is made of them.

A reduction is lowered to one or two accumulators, each fed with a value of every element, and to
statements about the row. ``online`` asks for as few readings of the row as there can be: a sum of
exponentials whose maximum still rises, a mean and a variance at once.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import NamedTuple, Protocol, TypeGuard

import torch
from pydantic import JsonValue

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, TracedOp


class Lowering(Protocol):
    """What a reduction is lowered into: values by the C++ names that hold them."""

    online: bool

    @property
    def suffix(self) -> str:
        """Suffix of C's math functions."""

    def operand(self, value: JsonValue, op: TracedOp) -> str:
        """The C++ name of an operand."""

    def number(self, op: TracedOp, name: str, position: int, default: float) -> str:
        """An optional numeric argument as C++."""

    def reduce(self, accumulator: str, value: str, fields: Sequence[str]) -> tuple[str, ...]:
        """Feed an accumulator with a value per element; the names of its fields."""

    def define(self, expression: str, *needs: str) -> str:
        """A new value, computed from others; its name."""


_MATRIX_VECTOR = frozenset({"matmul", "mm", "mv", "linear"})

Lower = Callable[[Lowering, TracedOp, str], str]


class Reduction(NamedTuple):
    """How one operation is lowered, and which of its arguments are understood.

    ``along`` is the position of the argument that names the dimension.
    """

    lower: Lower
    known: tuple[str, ...]
    along: int = 1


def lowered(lowering: Lowering, op: TracedOp, rank: int) -> str:
    """Lower one reduction over the last of ``rank`` dimensions; the name of its result.

    Raises:
        UnsupportedError: It reduces other dimensions, or has an argument without design.
    """
    reduction = REDUCTIONS[base_name(op)]
    _check_arguments(op, reduction)
    dims = op.args[reduction.along] if len(op.args) > reduction.along else op.kwargs.get("dim")
    if reduction.along and not _is_last(dims, rank):
        raise UnsupportedError(op.op, f"designs reduce the last dimension, not {dims}")
    return reduction.lower(lowering, op, lowering.operand(op.args[0], op))


def is_matrix_vector(op: TracedOp, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether an operation multiplies a matrix by one column: a sum along the matrix's rows.

    Args:
        op: Any operation.
        shapes: The shapes of the leaf tensors: both factors must be such.
    """
    if base_name(op) not in _MATRIX_VECTOR or len(op.args) != 2 or op.kwargs:  # noqa: PLR2004 - two factors
        return False
    matrix, vector = (
        shapes.get(str(arg["ref"]), ()) if _is_reference(arg) else () for arg in op.args
    )
    columns = vector[::-1] if base_name(op) == "linear" else vector
    return len(matrix) > 1 and columns in (matrix[-1:], (*matrix[-1:], 1)) and matrix[-1] > 1


def _is_reference(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict) and "ref" in value


def _is_last(dims: JsonValue, rank: int) -> bool:
    listed = dims if isinstance(dims, list) else [dims]
    if dims is None:
        return rank == 1
    return [dim % rank for dim in listed if isinstance(dim, int)] == [rank - 1]


def _check_arguments(op: TracedOp, reduction: Reduction) -> None:
    extra = [value for value in op.args[len(reduction.known) :] if value not in (None, False)]
    unknown = {
        name: value
        for name, value in op.kwargs.items()
        if value is not None and name not in reduction.known
    }
    if extra or unknown:
        raise UnsupportedError(op.op, f"no design takes {extra or unknown} into account")
    if not op.dtype.is_floating:
        raise UnsupportedError(op.op, f"the playbook does not reduce to {op.dtype.value}")


def exponentials(lowering: Lowering, x: str) -> tuple[str, str]:
    """The maximum of a row and the sum of exp(x - maximum)."""
    if lowering.online:
        top, total = lowering.reduce("ExpSum", x, ("top", "sum"))
        return top, total
    (top,) = lowering.reduce("Maximum", x, ("top",))
    shifted = lowering.define(f"exponential({x} - {top})", x, top)
    (total,) = lowering.reduce("Sum", shifted, ("sum",))
    return top, total


def moments(lowering: Lowering, x: str) -> tuple[str, str]:
    """The mean of a row and the sum of squared distances from it."""
    if lowering.online:
        mean, squares = lowering.reduce("Moments", x, ("mean", "squares"))
        return mean, squares
    mean = mean_of(lowering, x)
    apart = lowering.define(f"{x} - {mean}", x, mean)
    (squares,) = lowering.reduce("Sum", lowering.define(f"{apart} * {apart}", apart), ("sum",))
    return mean, squares


def mean_of(lowering: Lowering, x: str) -> str:
    """The mean of a row."""
    (total,) = lowering.reduce("Sum", x, ("sum",))
    return lowering.define(f"{total} / columns", total)


def _sum(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    (total,) = lowering.reduce("Sum", x, ("sum",))
    return total


def _mean(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    return mean_of(lowering, x)


def _maximum(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    (top,) = lowering.reduce("Maximum", x, ("top",))
    return top


def _minimum(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    (low,) = lowering.reduce("Minimum", x, ("low",))
    return low


def _softmax(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    top, total = exponentials(lowering, x)
    scale = lowering.define(f"T(1) / {total}", total)
    return lowering.define(f"exponential({x} - {top}) * {scale}", x, top, scale)


def _log_softmax(lowering: Lowering, op: TracedOp, x: str) -> str:
    """Without the way through exp and back, which loses small results."""
    del op
    top, total = exponentials(lowering, x)
    log = lowering.define(f"log{lowering.suffix}({total})", total)
    return lowering.define(f"({x} - {top}) - {log}", x, top, log)


def _logsumexp(lowering: Lowering, op: TracedOp, x: str) -> str:
    del op
    top, total = exponentials(lowering, x)
    return lowering.define(f"{top} + log{lowering.suffix}({total})", top, total)


def _norm(lowering: Lowering, op: TracedOp, x: str) -> str:
    order = op.args[1] if len(op.args) > 1 else op.kwargs.get("ord", 2)
    infinite = order == "inf" or (isinstance(order, float) and isinf(order) and order > 0)
    if order == 1 or infinite:
        size = lowering.define(f"fabs{lowering.suffix}({x})", x)
        field, accumulator = ("top", "Maximum") if infinite else ("sum", "Sum")
        (total,) = lowering.reduce(accumulator, size, (field,))
        return total
    if order != 2:  # noqa: PLR2004 - the Euclidean norm
        raise UnsupportedError(op.op, f"there is no design for a norm of order {order}")
    (squares,) = lowering.reduce("Sum", lowering.define(f"{x} * {x}", x), ("sum",))
    return lowering.define(f"sqrt{lowering.suffix}({squares})", squares)


def _variance(lowering: Lowering, op: TracedOp, x: str) -> str:
    correction = op.kwargs.get("correction", 1)
    if len(op.args) > 2:  # noqa: PLR2004 - (x, dim, unbiased)
        correction = int(bool(op.args[2]))
    if not isinstance(correction, int | float):
        raise UnsupportedError(op.op, f"no design takes the correction {correction}")
    _, squares = moments(lowering, x)
    degrees = f"(columns - T({float(correction)!r}))" if correction else "columns"
    return lowering.define(f"{squares} / {degrees}", squares)


def _deviation(lowering: Lowering, op: TracedOp, x: str) -> str:
    variance = _variance(lowering, op, x)
    return lowering.define(f"sqrt{lowering.suffix}({variance})", variance)


def _layer_norm(lowering: Lowering, op: TracedOp, x: str) -> str:
    mean, squares = moments(lowering, x)
    epsilon = lowering.number(op, "eps", 4, 1e-5)
    root = f"sqrt{lowering.suffix}({squares} / columns + {epsilon})"
    scale = lowering.define(f"T(1) / {root}", squares)
    return _affine(
        lowering, op, lowering.define(f"({x} - {mean}) * {scale}", x, mean, scale), (2, 3)
    )


def _rms_norm(lowering: Lowering, op: TracedOp, x: str) -> str:
    given = op.args[3] if len(op.args) > 3 else op.kwargs.get("eps")  # noqa: PLR2004 - (x, shape, weight, eps)
    if given is None and op.dtype not in (DType.FLOAT32, DType.FLOAT64):
        raise UnsupportedError(op.op, f"no eps is given, and {op.dtype.value} has several")
    epsilon = lowering.number(op, "eps", 3, torch.finfo(op.dtype.torch).eps)
    (squares,) = lowering.reduce("Sum", lowering.define(f"{x} * {x}", x), ("sum",))
    root = f"sqrt{lowering.suffix}({squares} / columns + {epsilon})"
    scale = lowering.define(f"T(1) / {root}", squares)
    return _affine(lowering, op, lowering.define(f"{x} * {scale}", x, scale), (2,))


def _affine(lowering: Lowering, op: TracedOp, value: str, positions: tuple[int, ...]) -> str:
    """What a norm multiplies and adds, where it is given; it normalises one dimension."""
    shape = op.args[1]
    if not isinstance(shape, list) or len(shape) != 1:
        raise UnsupportedError(op.op, f"designs normalise the last dimension, not {shape}")
    for position, name in zip(positions, ("weight", "bias"), strict=False):
        given = op.args[position] if len(op.args) > position else op.kwargs.get(name)
        if given is not None:
            other = lowering.operand(given, op)
            sign = "*" if name == "weight" else "+"
            value = lowering.define(f"{value} {sign} {other}", value, other)
    return value


REDUCTIONS: Mapping[str, Reduction] = {
    "sum": Reduction(_sum, ("self", "dim", "keepdim")),
    "mean": Reduction(_mean, ("self", "dim", "keepdim")),
    "amax": Reduction(_maximum, ("self", "dim", "keepdim")),
    "amin": Reduction(_minimum, ("self", "dim", "keepdim")),
    "max": Reduction(_maximum, ("self", "dim", "keepdim")),
    "min": Reduction(_minimum, ("self", "dim", "keepdim")),
    "logsumexp": Reduction(_logsumexp, ("self", "dim", "keepdim")),
    "softmax": Reduction(_softmax, ("self", "dim")),
    "log_softmax": Reduction(_log_softmax, ("self", "dim")),
    "var": Reduction(_variance, ("self", "dim", "unbiased", "keepdim", "correction")),
    "std": Reduction(_deviation, ("self", "dim", "unbiased", "keepdim", "correction")),
    "linalg_vector_norm": Reduction(_norm, ("self", "ord", "dim", "keepdim"), along=2),
    "layer_norm": Reduction(
        _layer_norm, ("input", "normalized_shape", "weight", "bias", "eps", "cudnn"), along=0
    ),
    "rms_norm": Reduction(_rms_norm, ("input", "normalized_shape", "weight", "eps"), along=0),
}
"""What a row program reduces by, and the arguments that are read, in their order."""
