"""References that small integers pass through exactly, and the inputs for that.

Where a reference only adds, multiplies and selects, integer inputs make every intermediate
an integer. As long as no partial sum can leave the integers that the narrowest type holds,
every order of summation, fused multiply-add, split operand and tensor-core path gives the
same bits. So equality is demanded, which finds every mistake of an index without any
tolerance; lost precision is left to the checks with real numbers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import torch
from pydantic import JsonValue
from torch import Tensor
from torch.utils._pytree import tree_map

from cutegen.dispatch_mode import Watch
from cutegen.reference import evaluate
from cutegen.spec import Case, DType, KernelSpec, MathMode
from cutegen.verification.comparison import Target
from cutegen.verification.inputs import seed_of
from cutegen.verification.reduction import operation_name
from cutegen.verification.sensitivity import Sway

_SUMS = frozenset(
    """
    mm bmm mv dot vdot matmul linear addmm baddbmm addmv addbmm addr einsum tensordot inner outer
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution
    sum cumsum
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
_SELECTIONS = frozenset(
    """
    add sub rsub mul neg square abs relu relu6 hardtanh clamp clamp_min clamp_max maximum minimum
    max min amax amin where masked_fill tril triu max_pool1d max_pool2d max_pool3d
    eq ne lt le gt ge logical_not logical_and logical_or
    view reshape _unsafe_view flatten unflatten squeeze unsqueeze transpose t permute numpy_T mT
    movedim swapaxes select slice narrow chunk split split_with_sizes unbind stack cat expand
    expand_as broadcast_to diagonal diag contiguous clone alias detach index_select gather
    constant_pad_nd pad flip roll repeat zeros_like ones_like full_like zeros ones full dropout
    """.split()  # noqa: SIM905 - the same
)
_MANTISSA = {DType.FLOAT16: 11, DType.BFLOAT16: 8, DType.FLOAT32: 24, DType.FLOAT64: 53}
_MODE_MANTISSA = {MathMode.FP32: 24, MathMode.TF32: 11, MathMode.FP16: 11, MathMode.BF16: 8}
_NARROWEST = 8  # bits that every floating type holds


class _Draw(NamedTuple):
    """Integers from -largest to largest, of which a share ``density`` is kept."""

    largest: int
    density: float


_DRAWS = (_Draw(2, 1.0), _Draw(1, 1.0), _Draw(1, 0.5), _Draw(1, 0.25), _Draw(1, 0.08))


@dataclass(frozen=True)
class ExactCheck:
    """Integer inputs, what must come out to the bit, and how large a partial sum can be."""

    inputs: Mapping[str, Tensor]
    targets: tuple[Target, ...]
    largest_sum: int


def keeps_integers(spec: KernelSpec) -> bool:
    """Whether the traced reference makes integers of integers, whatever they are."""
    if not spec.trace:
        return False
    scalars = {scalar.name: float(scalar.value) for scalar in spec.scalars}
    return all(
        (op.op == "getitem" or op.op.split(".")[1] in _SUMS | _SELECTIONS)
        and _integral([*op.args, *op.kwargs.values()], scalars)
        for op in spec.trace
    )


def _integral(value: JsonValue, scalars: Mapping[str, float]) -> bool:
    """Whether all numbers in the arguments of an operation are integers."""
    if isinstance(value, list):
        return all(_integral(each, scalars) for each in value)
    if isinstance(value, dict):
        return scalars.get(str(value.get("ref")), 0.0).is_integer()
    return not isinstance(value, float) or value.is_integer() or value in (inf, -inf)


def exact_check(
    spec: KernelSpec, case: Case, drawn: Mapping[str, Tensor], seed: int
) -> ExactCheck | None:
    """Replace the floating values of a case by integers, or None if sums get too large.

    Args:
        spec: A spec that ``keeps_integers``.
        case: The shapes.
        drawn: Any inputs of the case; integers and bools among them are kept.
        seed: Seed of the draw.
    """
    dtypes = [op.dtype for op in spec.trace] + [tensor.dtype for tensor in case.tensors]
    bits = [_MANTISSA[dtype] for dtype in dtypes if dtype.is_floating]
    allowed = min([_MODE_MANTISSA[spec.math_mode], *bits])
    for bits_wanted in sorted({min(_NARROWEST, allowed), allowed}):
        for draw in _DRAWS:
            inputs = _integers(drawn, draw, seed)
            with LargestSum() as seen:
                exact = evaluate(spec, inputs, precision=torch.float64)
            if seen.largest > 2**bits_wanted or not all(map(_whole, exact)):
                continue
            targets = tuple(
                Target(tensor, part.contiguous(), part.contiguous(), Sway(), tolerance=None)
                for tensor, part in zip(case.of("output"), exact, strict=True)
            )
            return ExactCheck(inputs, targets, int(seen.largest))
    return None


def _integers(drawn: Mapping[str, Tensor], draw: _Draw, seed: int) -> dict[str, Tensor]:
    inputs: dict[str, Tensor] = {}
    for name, tensor in drawn.items():
        inputs[name] = tensor
        if tensor.is_floating_point():
            generator = torch.Generator(tensor.device).manual_seed(seed_of(seed, "exact", name))
            values = torch.empty_like(tensor, dtype=torch.float32)
            values.uniform_(-draw.largest - 0.499, draw.largest + 0.499, generator=generator)
            kept = torch.empty_like(values).bernoulli_(draw.density, generator=generator)
            inputs[name] = (values.round_() * kept).to(tensor.dtype)
    return inputs


def _whole(exact: Tensor) -> bool:
    """Finite integers only; a maximum over nothing is minus infinity."""
    return not exact.is_floating_point() or bool((exact == exact.round()).all())


class LargestSum(Watch):
    """While active, ``largest`` bounds every partial sum, in whatever order it is taken."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        super().__init__()  # type: ignore[no-untyped-call] # PyTorch's own
        self.largest = 0.0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operation returns
        """Run the operation; sums also over absolute values, which bounds every part of them."""
        result = func(*args, **(kwargs or {}))
        bound = result
        if operation_name(func) in _SUMS:
            bound = func(*tree_map(_absolute, args), **tree_map(_absolute, kwargs or {}))
        for part in bound if isinstance(bound, tuple | list) else (bound,):
            if isinstance(part, Tensor) and part.is_floating_point() and part.numel():
                self.largest = max(self.largest, float(part.abs().max()))
        return result


def _absolute(value: object) -> object:
    return value.abs() if isinstance(value, Tensor) and value.is_floating_point() else value
