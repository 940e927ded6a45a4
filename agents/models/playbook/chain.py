"""From traced operations to one C++ functor that computes them for a single element."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from cutegen.agents.models.playbook.ops import BINARY, CASTS, PASS_THROUGH, PREDICATES, UNARY
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, TracedOp

_NOT_FINITE = {"inf": "T(INFINITY)", "-inf": "T(-INFINITY)", "nan": "T(NAN)"}
"""The trace writes these as text, since JSON has no numbers for them."""


class Chain:
    """Writes one statement per operation, in the order of the trace.

    ``names`` maps what the trace calls a value to the C++ expression that holds it; it starts
    with the operands of the functor and grows by one local variable per operation. ``used``
    holds what the operations read.
    """

    def __init__(self, names: dict[str, str], compute: DType) -> None:
        """Start from the operands' names, computing in float32 or float64."""
        self.names = dict(names)
        self.statements: list[str] = []
        self.used: set[str] = set()
        self._suffix = "f" if compute is DType.FLOAT32 else ""

    def add(self, op: TracedOp) -> None:
        """Append the statement of one operation.

        Raises:
            UnsupportedError: There is no expression for it.
        """
        base = base_name(op)
        if base in PASS_THROUGH and not (base.endswith("dropout") and op.args[2] is not False):
            self.names[op.name] = self._operand(op.args[0], op)
            return
        truth = op.dtype is DType.BOOL
        if not op.dtype.is_floating and not (truth and base in (*PREDICATES, *CASTS)):
            raise UnsupportedError(op.op, f"the playbook does not calculate in {op.dtype.value}")
        expression = self._cast(op) if base in CASTS else self._expression(base, op)
        kind = "bool" if truth else "T"
        name = f"v{len(self.statements)}"
        self.statements.append(f"{kind} const {name} = {expression};")
        self.names[op.name] = name

    def add_sum(self, name: str, first: str, leaf: str) -> None:
        """Append the sum of an expression and a leaf, and call it ``name`` from now on."""
        self.used.add(leaf)
        result = f"v{len(self.statements)}"
        self.statements.append(f"T const {result} = {first} + {self.names[leaf]};")
        self.names[name] = result

    def define(self, expression: str) -> str:
        """Append a value that no single operation computes; the variable that holds it."""
        name = f"v{len(self.statements)}"
        self.statements.append(f"T const {name} = {expression};")
        return name

    def _expression(self, base: str, op: TracedOp) -> str:
        template = UNARY.get(base) if len(op.args) == 1 else BINARY.get(base)
        if base in _SPECIAL:
            special, known = _SPECIAL[base]
        elif template is not None:
            known = ("self", "other")[: len(op.args)]
        else:
            raise UnsupportedError(op.op, "the playbook has no expression for it")
        _refuse_unknown(op, known)
        operands = [self._operand(value, op) for value in op.args]
        if base in _SPECIAL:
            return special(self, op, operands)
        assert template is not None
        return template.format(*operands, f=self._suffix)

    def _cast(self, op: TracedOp) -> str:
        """A conversion, with the rounding of the type that it goes through."""
        value = self._operand(op.args[0], op)
        if op.dtype is DType.BOOL:
            return f"{value} != T(0)"
        exact = op.dtype is DType.FLOAT64 or (op.dtype is DType.FLOAT32 and self._suffix == "f")
        return f"T({value})" if exact else f"T({op.dtype.c_type}(T({value})))"

    def _operand(self, value: JsonValue, op: TracedOp) -> str:
        if isinstance(value, dict) and "ref" in value:
            reference = str(value["ref"])
            if reference not in self.names:
                raise UnsupportedError(op.op, f"its operand {reference} is not elementwise")
            self.used.add(reference)
            return self.names[reference]
        if isinstance(value, dict):
            raise UnsupportedError(op.op, "an extent is used as a number")
        return self.literal(value)

    def literal(self, value: JsonValue) -> str:
        """A number as C++ writes it in the compute type; empty for what is no number."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return f"T({float(value)!r})"
        return _NOT_FINITE.get(str(value), "")

    def number(self, op: TracedOp, name: str, position: int, default: float) -> str:
        """An optional numeric argument, by position or keyword."""
        value = op.args[position] if position < len(op.args) else op.kwargs.get(name, default)
        return self._operand(default if value is None else value, op)

    @property
    def suffix(self) -> str:
        """``f`` for float, empty for double."""
        return self._suffix


def base_name(op: TracedOp) -> str:
    """The operation without namespace, overload and in-place mark: ``relu``."""
    return op.op.removeprefix("aten.").split(".")[0].strip("_")


def _refuse_unknown(op: TracedOp, known: Sequence[str]) -> None:
    """An argument that an expression does not read would be dropped without a word.

    Raises:
        UnsupportedError: The operation has such an argument, and it is not None.
    """
    extra = op.args[len(known) :]
    names = [name for name, value in op.kwargs.items() if value is not None and name not in known]
    if names or any(value is not None for value in extra):
        shown = ", ".join([*map(str, extra), *(f"{name}={op.kwargs[name]}" for name in names)])
        raise UnsupportedError(op.op, f"no expression takes {shown} into account")


Special = Callable[[Chain, TracedOp, Sequence[str]], str]


def _add(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    return f"{operands[0]} + {_scaled(chain, op, operands[1])}"


def _sub(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    return f"{operands[0]} - {_scaled(chain, op, operands[1])}"


def _rsub(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    return f"{operands[1]} - {_scaled(chain, op, operands[0])}"


def _scaled(chain: Chain, op: TracedOp, operand: str) -> str:
    alpha = op.kwargs.get("alpha", op.args[2] if len(op.args) > 2 else 1)  # noqa: PLR2004 - (a, b, alpha)
    return operand if alpha == 1 else f"{chain.literal(alpha)} * {operand}"


_POWERS = {
    1: "{0}",
    2: "{0} * {0}",
    3: "{0} * {0} * {0}",
    -1: "T(1) / {0}",
    -2: "T(1) / ({0} * {0})",
}


def _pow(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    exponent = op.args[1]
    if exponent == 0.5:  # noqa: PLR2004 - a square root
        return f"sqrt{chain.suffix}({operands[0]})"
    if isinstance(exponent, int | float) and exponent in _POWERS:
        return _POWERS[int(exponent)].format(operands[0])
    return f"pow{chain.suffix}({operands[0]}, {operands[1]})"


def _gelu(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x, f = operands[0], chain.suffix
    if op.kwargs.get("approximate", "none") == "tanh" or "tanh" in op.args:
        inner = f"T(0.7978845608028654) * ({x} + T(0.044715) * {x} * {x} * {x})"
        return f"T(0.5) * {x} * (T(1) + tanh{f}({inner}))"
    return f"{x} * T(0.5) * (T(1) + erf{f}({x} * T(0.7071067811865476)))"


def _leaky_relu(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    return f"{operands[0]} > T(0) ? {operands[0]} : {operands[0]} * " + chain.number(
        op, "negative_slope", 1, 0.01
    )


def _elu(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x = operands[0]
    alpha, scale = chain.number(op, "alpha", 1, 1.0), chain.number(op, "scale", 2, 1.0)
    inner = chain.number(op, "input_scale", 3, 1.0)
    return f"{x} > T(0) ? {x} * {scale} : expm1{chain.suffix}({x} * {inner}) * {alpha} * {scale}"


def _celu(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x, alpha = operands[0], chain.number(op, "alpha", 1, 1.0)
    return f"{x} > T(0) ? {x} : {alpha} * expm1{chain.suffix}({x} / {alpha})"


def _softplus(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x, f = operands[0], chain.suffix
    beta, threshold = chain.number(op, "beta", 1, 1.0), chain.number(op, "threshold", 2, 20.0)
    return f"{x} * {beta} > {threshold} ? {x} : log1p{f}(exp{f}({x} * {beta})) / {beta}"


def _clamp(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    low = operands[1] if len(operands) > 1 else ""
    high = operands[2] if len(operands) > 2 else ""  # noqa: PLR2004 - (x, min, max)
    low = low or chain.literal(op.kwargs.get("min"))
    high = high or chain.literal(op.kwargs.get("max"))
    inner = f"({operands[0]} < {low} ? {low} : {operands[0]})" if low else operands[0]
    return f"{inner} > {high} ? {high} : {inner}" if high else inner


def _hardtanh(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    low, high = chain.number(op, "min_val", 1, -1.0), chain.number(op, "max_val", 2, 1.0)
    return f"{operands[0]} < {low} ? {low} : ({operands[0]} > {high} ? {high} : {operands[0]})"


def _where(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    del chain, op
    return f"{operands[0]} ? {operands[1]} : {operands[2]}"


def _threshold(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    del chain, op
    return f"{operands[0]} <= {operands[1]} ? {operands[2]} : {operands[0]}"


def _softshrink(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x, bound = operands[0], chain.number(op, "lambd", 1, 0.5)
    return f"{x} > {bound} ? {x} - {bound} : ({x} < -{bound} ? {x} + {bound} : {x} * T(0))"


def _hardshrink(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    x, bound = operands[0], chain.number(op, "lambd", 1, 0.5)
    return f"({x} >= -{bound} && {x} <= {bound}) ? T(0) : {x}"


def _addcmul(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    value = chain.number(op, "value", 3, 1.0)
    return f"{operands[0]} + {value} * {operands[1]} * {operands[2]}"


def _addcdiv(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    value = chain.number(op, "value", 3, 1.0)
    return f"{operands[0]} + {value} * ({operands[1]} / {operands[2]})"


def _lerp(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    del chain, op
    start, end, weight = operands
    return f"{start} + {weight} * ({end} - {start})"


def _masked_fill(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    del chain, op
    return f"{operands[1]} ? {operands[2]} : {operands[0]}"


_SPECIAL: dict[str, tuple[Special, tuple[str, ...]]] = {
    "add": (_add, ("self", "other", "alpha")),
    "sub": (_sub, ("self", "other", "alpha")),
    "rsub": (_rsub, ("self", "other", "alpha")),
    "pow": (_pow, ("self", "exponent")),
    "gelu": (_gelu, ("self", "approximate")),
    "leaky_relu": (_leaky_relu, ("self", "negative_slope")),
    "elu": (_elu, ("self", "alpha", "scale", "input_scale")),
    "celu": (_celu, ("self", "alpha")),
    "softplus": (_softplus, ("self", "beta", "threshold")),
    "clamp": (_clamp, ("self", "min", "max")),
    "hardtanh": (_hardtanh, ("self", "min_val", "max_val")),
    "where": (_where, ("condition", "self", "other")),
    "threshold": (_threshold, ("self", "threshold", "value")),
    "softshrink": (_softshrink, ("self", "lambd")),
    "hardshrink": (_hardshrink, ("self", "lambd")),
    "addcmul": (_addcmul, ("self", "tensor1", "tensor2", "value")),
    "addcdiv": (_addcdiv, ("self", "tensor1", "tensor2", "value")),
    "lerp": (_lerp, ("self", "end", "weight")),
    "masked_fill": (_masked_fill, ("self", "mask", "value")),
}
"""What takes options, and the arguments that it reads, in their order."""
