"""From traced operations to one C++ functor that computes them for a single element."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from cutegen.agents.models.playbook.ops import BINARY, PASS_THROUGH, PREDICATES, UNARY
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
        operands = [self._operand(value, op) for value in op.args]
        if base in PASS_THROUGH and not (base.endswith("dropout") and op.args[2] is not False):
            self.names[op.name] = operands[0]
            return
        expression = self._expression(base, op, operands)
        kind = "bool" if base in PREDICATES else "T"
        name = f"v{len(self.statements)}"
        self.statements.append(f"{kind} const {name} = {expression};")
        self.names[op.name] = name

    def add_sum(self, name: str, first: str, leaf: str) -> None:
        """Append the sum of an expression and a leaf, and call it ``name`` from now on."""
        self.used.add(leaf)
        result = f"v{len(self.statements)}"
        self.statements.append(f"T const {result} = {first} + {self.names[leaf]};")
        self.names[name] = result

    def _expression(self, base: str, op: TracedOp, operands: Sequence[str]) -> str:
        template = UNARY.get(base) if len(operands) == 1 else BINARY.get(base)
        if template is not None and op.kwargs.get("rounding_mode") is None:
            return template.format(*operands, f=self._suffix)
        special = _SPECIAL.get(base)
        if special is None:
            raise UnsupportedError(op.op, "the playbook has no expression for it")
        return special(self, op, operands)

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
    return op.op.removeprefix("aten.").split(".")[0].removesuffix("_").lstrip("_")


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
    value = chain.literal(op.kwargs.get("value", 1))
    return f"{operands[0]} + {value} * {operands[1]} * {operands[2]}"


def _addcdiv(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    value = chain.literal(op.kwargs.get("value", 1))
    return f"{operands[0]} + {value} * ({operands[1]} / {operands[2]})"


def _lerp(chain: Chain, op: TracedOp, operands: Sequence[str]) -> str:
    del chain, op
    start, end, weight = operands
    return f"{start} + {weight} * ({end} - {start})"


_SPECIAL: dict[str, Special] = {
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "pow": _pow,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "celu": _celu,
    "softplus": _softplus,
    "clamp": _clamp,
    "hardtanh": _hardtanh,
    "where": _where,
    "threshold": _threshold,
    "softshrink": _softshrink,
    "hardshrink": _hardshrink,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "lerp": _lerp,
}
