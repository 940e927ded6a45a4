"""ATen elementwise operations as C++ expressions.

An expression is written in the compute type ``T`` (float or double); ``{f}`` is the suffix of the C
math functions for it. The forms are those of PyTorch's own CUDA kernels wherever rounding depends
on the form, so that a kernel is as exact as the function it replaces.
"""

from collections.abc import Mapping

UNARY: Mapping[str, str] = {
    "abs": "fabs{f}({0})",
    "neg": "-{0}",
    "exp": "exp{f}({0})",
    "exp2": "exp2{f}({0})",
    "expm1": "expm1{f}({0})",
    "log": "log{f}({0})",
    "log2": "log2{f}({0})",
    "log10": "log10{f}({0})",
    "log1p": "log1p{f}({0})",
    "sqrt": "sqrt{f}({0})",
    "rsqrt": "T(1) / sqrt{f}({0})",
    "reciprocal": "T(1) / {0}",
    "square": "{0} * {0}",
    "sin": "sin{f}({0})",
    "cos": "cos{f}({0})",
    "tan": "tan{f}({0})",
    "asin": "asin{f}({0})",
    "acos": "acos{f}({0})",
    "atan": "atan{f}({0})",
    "sinh": "sinh{f}({0})",
    "cosh": "cosh{f}({0})",
    "tanh": "tanh{f}({0})",
    "asinh": "asinh{f}({0})",
    "acosh": "acosh{f}({0})",
    "atanh": "atanh{f}({0})",
    "erf": "erf{f}({0})",
    "erfc": "erfc{f}({0})",
    "floor": "floor{f}({0})",
    "ceil": "ceil{f}({0})",
    "trunc": "trunc{f}({0})",
    "round": "rint{f}({0})",
    "sign": "T({0} > T(0)) - T({0} < T(0))",
    # a comparison with NaN is false, so these forms let NaN through as PyTorch does
    "relu": "{0} < T(0) ? T(0) : {0}",
    "relu6": "{0} < T(0) ? T(0) : ({0} > T(6) ? T(6) : {0})",
    "sigmoid": "T(1) / (T(1) + exp{f}(-{0}))",
    "silu": "{0} / (T(1) + exp{f}(-{0}))",
    "mish": "{0} * tanh{f}(log1p{f}(exp{f}({0})))",
    "log_sigmoid": "({0} < T(0) ? {0} : T(0)) - log1p{f}(exp{f}(-fabs{f}({0})))",
    "hardsigmoid": "fmin{f}(fmax{f}({0} + T(3), T(0)), T(6)) / T(6)",
    "hardswish": "{0} * fmin{f}(fmax{f}({0} + T(3), T(0)), T(6)) / T(6)",
    "selu": "T(1.0507009873554805) * ({0} > T(0) ? {0} : T(1.6732632423543772) * expm1{f}({0}))",
    "logical_not": "!({0})",
    "bitwise_not": "!({0})",
}
"""Functions of one value."""

BINARY: Mapping[str, str] = {
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "maximum": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "minimum": "({0} < {1} || {0} != {0}) ? {0} : {1}",
    "atan2": "atan2{f}({0}, {1})",
    "hypot": "hypot{f}({0}, {1})",
    "gt": "{0} > {1}",
    "lt": "{0} < {1}",
    "ge": "{0} >= {1}",
    "le": "{0} <= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "logical_and": "({0}) && ({1})",
    "logical_or": "({0}) || ({1})",
    "logical_xor": "bool({0}) != bool({1})",
    "and": "({0}) && ({1})",
    "or": "({0}) || ({1})",
    "bitwise_and": "({0}) && ({1})",
    "bitwise_or": "({0}) || ({1})",
    "clamp_min": "{0} < {1} ? {1} : {0}",
    "clamp_max": "{0} > {1} ? {1} : {0}",
}
"""Functions of two values, tensors or numbers."""

PREDICATES = frozenset(
    {"gt", "lt", "ge", "le", "eq", "ne", "logical_and", "logical_or", "logical_xor", "logical_not"}
    | {"and", "or", "bitwise_and", "bitwise_or", "bitwise_not"}
)
"""Operations whose result is a truth value (the bitwise ones of truth values)."""

PASS_THROUGH = frozenset(
    {"alias", "clone", "contiguous", "detach", "dropout", "feature_dropout", "lift_fresh_copy"}
)
"""Operations that change no value (dropout is only accepted in evaluation mode)."""

CASTS = frozenset({"to", "to_copy", "type_as"})
"""Conversions; the result's type is the trace's."""
