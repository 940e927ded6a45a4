"""The least work a spec demands: bytes and operations, counted from its trace."""

from collections.abc import Iterator, Sequence
from math import prod

import torch

from cutegen.frozen import Frozen
from cutegen.spec import DType, KernelSpec, TracedOp

# The position of the operand whose last extent is summed over.
_PRODUCTS = {
    **dict.fromkeys(("mm", "bmm", "matmul", "linear", "mv", "dot", "vdot", "inner"), 0),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), 1),
}
_CONVOLUTIONS = frozenset(("conv1d", "conv2d", "conv3d", "convolution"))
_TRIANGLES = ("triu", "tril")
# Every element of the operand is an element of the result, once.
_WHOLE_VIEWS = """
view reshape _unsafe_view flatten unflatten squeeze unsqueeze transpose t permute numpy_T mT
movedim swapaxes contiguous clone alias detach to _to_copy
"""
# The result may leave elements of the operand out, so that nobody has to read them.
_SELECTIONS = """
select slice narrow chunk split split_with_sizes unbind triu tril diag diagonal diag_embed index
index_select gather take take_along_dim embedding embedding_bag masked_select where masked_fill
max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d as_strided unfold
zeros_like ones_like full_like empty_like rand_like randn_like
"""


class Work(Frozen):
    """Work of one call at the timed shapes.

    ``nbytes`` and ``flops`` say where the limit lies: every tensor moved once, every product
    taken as written, elementwise arithmetic not counted. ``certain_reads`` and
    ``certain_flops`` are the part that no kernel can avoid by being clever; they are what a
    time may be refused by. ``dtype`` is that of the products' result, None without products.
    """

    nbytes: int
    flops: int
    certain_reads: int
    certain_flops: int
    writes: int
    dtype: DType | None = None


def count_work(spec: KernelSpec) -> Work:
    """Count the bytes and the multiply-adds (two operations each) of one call.

    Products can be reassociated, folded into a reduction or skipped where a mask hides their
    result. So operations are certain only for a single product of plain tensors among
    elementwise operations and views. Inputs are certainly read in full only when the trace
    uses them and selects nothing.
    """
    shapes = {tensor.name: tensor.shape for tensor in spec.timed.tensors}
    shapes |= {traced.name: traced.shape for traced in spec.trace}
    flops, products = 0, []
    for traced in spec.trace:
        operations = _flops(traced, shapes)
        if operations:
            flops += operations
            products.append(traced)
        elif _name(traced) in _TRIANGLES and (cut := _cut_product(traced, products)):
            flops -= round(_flops(cut, shapes) * (1 - _kept(traced)))
    names = {_name(traced) for traced in spec.trace}
    used = {name for traced in spec.trace for name in _references(traced)}
    sources = [tensor for tensor in spec.timed.tensors if tensor.role != "output"]
    reads_all = bool(spec.trace) and names.isdisjoint(_SELECTIONS.split())
    single = (
        len(products) == 1
        and _name(products[0]) in _PRODUCTS
        and all(traced is products[0] or _keeps_every_element(traced) for traced in spec.trace)
    )
    return Work(
        nbytes=spec.timed.nbytes,
        flops=flops,
        certain_reads=sum(t.nbytes for t in sources if t.name in used) if reads_all else 0,
        certain_flops=flops if single else 0,
        writes=sum(tensor.nbytes for tensor in spec.timed.of("output")),
        dtype=products[0].dtype if products else None,
    )


def _name(traced: TracedOp) -> str:
    """``mm`` of ``aten.mm.default``."""
    parts = traced.op.split(".")
    return parts[1] if len(parts) > 1 else traced.op


def _flops(traced: TracedOp, shapes: dict[str, tuple[int, ...]]) -> int:
    name = _name(traced)
    operands = [shapes.get(reference, ()) for reference in _references(traced)]
    if name == "einsum":
        terms = str(traced.args[0]).replace(" ", "").split("->")[0].split(",")
        extents = {
            letter: extent
            for term, shape in zip(terms, operands, strict=False)
            for letter, extent in zip(term, shape, strict=False)
        }
        return 2 * prod(extents.values()) if len(operands) == 2 else 0  # noqa: PLR2004 - a product
    if name in _PRODUCTS and len(operands) > _PRODUCTS[name]:
        shape = operands[_PRODUCTS[name]]
        return 2 * prod(traced.shape) * (shape[-1] if shape else 1)
    if name in _CONVOLUTIONS and len(operands) > 1:  # the weight is (out, in / groups, *kernel)
        return 2 * prod(traced.shape) * prod(operands[1][1:])
    return 0


def _cut_product(traced: TracedOp, products: Sequence[TracedOp]) -> TracedOp | None:
    """The product that a triangle is cut from, if it is one."""
    operand = next(_references(traced), "")
    return next((product for product in products if product.name == operand), None)


def _kept(traced: TracedOp) -> float:
    """The share of elements that lie in a triangle."""
    diagonal = traced.args[1] if len(traced.args) > 1 else traced.kwargs.get("diagonal", 0)
    rows, columns = traced.shape[-2:]
    if not isinstance(diagonal, int):
        return 1.0
    below = sum(min(columns, max(0, row + diagonal)) for row in range(rows))  # n - m < diagonal
    on = sum(0 <= row + diagonal < columns for row in range(rows))
    upper = rows * columns - below
    kept = upper if _name(traced) == "triu" else below + on
    return kept / (rows * columns) if rows and columns else 1.0


def _references(traced: TracedOp) -> Iterator[str]:
    """Names of the values that an operation uses, in the order of its arguments."""
    pending = [*traced.args, *traced.kwargs.values()]
    while pending:
        value = pending.pop(0)
        if isinstance(value, dict):
            name = value.get("ref")
            if isinstance(name, str):
                yield name
        elif isinstance(value, list):
            pending[:0] = value


def _keeps_every_element(traced: TracedOp) -> bool:
    """Whether each element of the result needs one of each operand, and none goes unused."""
    parts = traced.op.split(".")
    if len(parts) != 3 or _name(traced) in _SELECTIONS.split():  # noqa: PLR2004 - namespace, name, overload
        return False
    overload = getattr(getattr(torch.ops.aten, parts[1], None), parts[2], None)
    pointwise = overload is not None and torch.Tag.pointwise in overload.tags
    return pointwise or parts[1] in _WHOLE_VIEWS.split()
