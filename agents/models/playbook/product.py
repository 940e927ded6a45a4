"""Finding the matrix product in a trace: its factors, their orientation, extents and strides."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.frozen import Frozen
from cutegen.spec import DType, KernelSpec, TensorArg, TracedOp

PRODUCTS = frozenset({"mm", "matmul", "bmm", "linear", "addmm", "einsum"})
_TRIANGLES = {"triu": "upper", "tril": "lower"}
_TRANSPOSES = frozenset({"t", "numpy_T", "mT", "transpose", "permute"})
_FACTORS = (DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)


class Factor(Frozen):
    """One factor: a leaf tensor whose last two dimensions may be swapped."""

    tensor: TensorArg
    swapped: bool

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.tensor.shape)

    def extent(self, from_last: int) -> str:
        """C++ expression of a dimension of the factor as the product sees it: 1 last, 2 before."""
        position = self.rank - (3 - from_last if self.swapped else from_last)
        return f"a.{self.tensor.name}_shape[{position}]"

    @property
    def vector(self) -> int:
        """Elements in 128 bits."""
        return 16 // self.tensor.dtype.itemsize


class Product(Frozen):
    """``C(m, n, l) = sum over k of A(m, k, l) * B(n, k, l)``, in CuTe's order of modes.

    ``consumed`` names the traced operations that are part of it. Of a result that is cut to a
    ``triangle``, elements with ``n - m`` below (upper) or above (lower) ``diagonal`` are zero.
    """

    name: str
    op: str
    shape: tuple[int, ...]
    a: Factor
    b: Factor
    b_is_nk: bool
    batched: bool
    bias: str = ""
    triangle: Literal["", "upper", "lower"] = ""
    diagonal: int = 0
    consumed: tuple[str, ...]

    @property
    def a_k_major(self) -> bool:
        """Whether A is contiguous along K (else along M)."""
        return not self.a.swapped

    @property
    def b_k_major(self) -> bool:
        """Whether B is contiguous along K (else along N)."""
        return self.b.swapped is not self.b_is_nk

    @property
    def m(self) -> str:
        """C++ expression of M; leading dimensions of A that B does not share count into it."""
        if self.batched or self.a.rank == 2:  # noqa: PLR2004 - a matrix
            return self.a.extent(2)
        leading = (f"a.{self.a.tensor.name}_shape[{d}]" for d in range(self.a.rank - 1))
        return " * ".join(leading)

    @property
    def n(self) -> str:
        """C++ expression of N."""
        return self.b.extent(2 if self.b_is_nk else 1)

    @property
    def k(self) -> str:
        """C++ expression of K."""
        return self.a.extent(1)

    @property
    def batch(self) -> str:
        """C++ expression of the number of products."""
        return f"a.{self.a.tensor.name}_shape[0]" if self.batched else "1"


def find_product(spec: KernelSpec) -> Product:
    """Find the one matrix product of a spec whose factors are leaf tensors.

    Raises:
        UnsupportedError: There is none, there are several, or it has a form without design.
    """
    products = [op for op in spec.trace if base_name(op) in PRODUCTS]
    if len(products) != 1:
        named = products[1].op if products else _first_op(spec)
        raise UnsupportedError(named, f"{len(products)} matrix products; designs are for one")
    tensors = {t.name: t for t in spec.timed.of("input", "parameter", "buffer")}
    factors = {name: Factor(tensor=tensor, swapped=False) for name, tensor in tensors.items()}
    consumed = [products[0].name]
    for op in spec.trace:
        source = _reference(op.args[0]) if op.args else ""
        if base_name(op) in _TRANSPOSES and source in factors and _swaps_last_two(op):
            before = factors[source]
            factors[op.name] = Factor(tensor=before.tensor, swapped=not before.swapped)
            consumed.append(op.name)
    return _triangle(spec, _product(products[0], factors, tuple(consumed)))


def _triangle(spec: KernelSpec, product: Product) -> Product:
    """The product together with a cut to a triangle, if it has one and nothing else uses it."""
    users = [op for op in spec.trace if product.name in map(_reference, op.args)]
    cut = users[0] if len(users) == 1 else None
    plain = not product.bias and (product.batched or len(product.shape) == 2)  # noqa: PLR2004 - a matrix
    if cut is None or base_name(cut) not in _TRIANGLES or not plain:
        return product
    diagonal = cut.args[1] if len(cut.args) > 1 else cut.kwargs.get("diagonal", 0)
    if not isinstance(diagonal, int):
        return product
    return product.model_copy(
        update={
            "name": cut.name,
            "triangle": _TRIANGLES[base_name(cut)],
            "diagonal": diagonal,
            "consumed": (*product.consumed, cut.name),
        }
    )


def _product(op: TracedOp, factors: Mapping[str, Factor], consumed: tuple[str, ...]) -> Product:
    references = [_reference(value) for value in op.args[:3]]
    bias, b_is_nk = "", base_name(op) == "linear"
    if base_name(op) == "addmm":
        if op.kwargs:
            raise UnsupportedError(op.op, "alpha and beta other than one have no design")
        bias, *references = references
    elif base_name(op) == "linear" and len(references) > 2:  # noqa: PLR2004 - (x, weight, bias)
        bias = references.pop()
    elif base_name(op) == "einsum":
        references, b_is_nk = _einsum(op)
    for reference in references[:2]:
        if reference not in factors:
            raise UnsupportedError(op.op, "a factor is computed, not given")
    a, b = (factors[reference] for reference in references[:2])
    if a.tensor.dtype not in _FACTORS or b.tensor.dtype not in _FACTORS:
        raise UnsupportedError(op.op, "the factors are not floating point")
    batched = a.rank == b.rank == 3  # noqa: PLR2004 - (batch, row, column)
    matrix_b = b.rank == 2  # noqa: PLR2004 - a matrix
    flattens = matrix_b and a.rank >= 2 and (a.rank == 2 or not a.swapped)  # noqa: PLR2004 - a matrix
    if not (flattens or batched) or (batched and a.tensor.shape[0] != b.tensor.shape[0]):
        shapes = f"{list(a.tensor.shape)} by {list(b.tensor.shape)}"
        raise UnsupportedError(op.op, f"no design multiplies {shapes}")
    return Product(
        name=op.name,
        op=op.op,
        shape=op.shape,
        a=a,
        b=b,
        b_is_nk=b_is_nk,
        batched=batched,
        bias=bias,
        consumed=consumed,
    )


def _einsum(op: TracedOp) -> tuple[list[str], bool]:
    """Factors of an equation that is a product of matrices, and whether the second is (N, K).

    Raises:
        UnsupportedError: The equation is none, or sums over other letters than the last of the
            first factor.
    """
    equation, operands = str(op.args[0]).replace(" ", ""), op.args[1]
    terms, _, result = equation.partition("->")
    a, _, b = terms.partition(",")
    shared = a[:-2] if len(b) > 2 else ""  # noqa: PLR2004 - a matrix
    n = result[-1:]
    plain = n and n not in a and result == a[:-1] + n and isinstance(operands, list)
    if not plain or b not in (shared + a[-1:] + n, shared + n + a[-1:]):
        raise UnsupportedError(op.op, f"no design multiplies by the equation {equation!r}")
    assert isinstance(operands, list)
    return [_reference(operand) for operand in operands], b.endswith(a[-1:])


def _swaps_last_two(op: TracedOp) -> bool:
    rank = len(op.shape)
    last_two = {rank - 2, rank - 1}
    match base_name(op), op.args[1:]:
        case "transpose", (int(first), int(second)):
            return {first % rank, second % rank} == last_two
        case "permute", (list(order),):
            swapped = [*range(rank - 2), rank - 1, rank - 2]
            return [d % rank for d in order if isinstance(d, int)] == swapped
        case "mT", ():
            return True
        case (("t" | "numpy_T"), ()):
            return rank == 2  # noqa: PLR2004 - a matrix
    return False


def _reference(value: JsonValue) -> str:
    return str(value["ref"]) if isinstance(value, dict) and "ref" in value else ""


def _first_op(spec: KernelSpec) -> str:
    return spec.trace[0].op if spec.trace else "forward"
