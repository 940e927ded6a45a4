"""How an elementwise kernel reads its operands: dense, or broadcast along some dimensions."""

from collections.abc import Sequence

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.frozen import Frozen
from cutegen.spec import DType, KernelSpec, TensorArg, TracedOp

_FLOATING = (DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
_VIEWS = frozenset({"view", "reshape", "unsafe_view", "unsqueeze", "expand", "expand_as"})


class Operand(Frozen):
    """One tensor as an elementwise kernel sees it.

    ``dims`` has one entry per dimension of the output: the tensor's own dimension that follows
    it, or None where the tensor is broadcast.
    """

    tensor: TensorArg
    dims: tuple[int | None, ...]

    @property
    def dense(self) -> bool:
        """Whether element ``i`` of the output needs element ``i`` of the tensor."""
        return self.dims == tuple(range(len(self.tensor.shape)))

    def stride(self, dim: int) -> str:
        """The C++ expression of the stride along a dimension of the output, in elements."""
        own = self.dims[dim]
        if own is None:
            return "int64_t(0)"
        factors = [f"a.{self.tensor.name}_shape[{d}]" for d in range(own + 1, self.tensor_rank)]
        return " * ".join(["int64_t(1)", *factors])

    @property
    def tensor_rank(self) -> int:
        """Number of dimensions of the tensor itself."""
        return len(self.tensor.shape)


class Operands:
    """All tensors of a spec, and the views of them that the trace makes."""

    def __init__(self, spec: KernelSpec, output_shape: Sequence[int]) -> None:
        """Align every input and every state tensor with the output."""
        self._output = tuple(output_shape)
        self._tensors = {t.name: t for t in spec.timed.of("input", "parameter", "buffer")}
        self._views: dict[str, tuple[str, tuple[int, ...]]] = {}

    def is_view(self, op: TracedOp) -> bool:
        """Take note of an operation that only looks at a leaf tensor in another shape."""
        source = op.args[0] if op.args else None
        if base_name(op) not in _VIEWS or not (isinstance(source, dict) and "ref" in source):
            return False
        name = str(source["ref"])
        leaf = self._views[name][0] if name in self._views else name
        if leaf not in self._tensors:
            return False
        self._views[op.name] = (leaf, op.shape)
        return True

    def view(self, name: str, leaf: str, shape: tuple[int, ...]) -> None:
        """Let ``name`` be a leaf tensor in another shape."""
        self._views[name] = (leaf, shape)

    def names(self) -> tuple[str, ...]:
        """Every name under which the trace may use a leaf tensor."""
        return (*self._tensors, *self._views)

    def leaf(self, name: str) -> Operand:
        """The operand behind a name.

        Raises:
            UnsupportedError: It has a type or a shape that the playbook cannot broadcast.
        """
        leaf, shape = self._views.get(name, (name, None))
        tensor = self._tensors[leaf]
        if tensor.dtype not in (*_FLOATING, DType.BOOL):
            raise UnsupportedError(leaf, f"elementwise kernels read no {tensor.dtype.value}")
        return Operand(tensor=tensor, dims=self._align(tensor, shape or tensor.shape))

    def _align(self, tensor: TensorArg, shape: tuple[int, ...]) -> tuple[int | None, ...]:
        """Match a (viewed) shape with the output from the right, then with the tensor's own."""
        padded = (1,) * (len(self._output) - len(shape)) + shape
        if len(padded) != len(self._output):
            raise UnsupportedError(tensor.name, "it has more dimensions than the output")
        own = [dim for dim, extent in enumerate(tensor.shape) if extent != 1]
        if len(shape) == len(tensor.shape):  # no view: extents of one may be real dimensions
            own = list(range(len(tensor.shape)))
            kept = [None] * (len(padded) - len(shape)) + list(own)
            return tuple(
                dim if dim is not None and (padded[i] == self._output[i]) else None
                for i, dim in enumerate(kept)
            )
        dims: list[int | None] = []
        for extent, output in zip(padded, self._output, strict=True):
            follows = extent != 1 and extent == output and bool(own)
            dims.append(own.pop(0) if follows else None)
        if own:
            raise UnsupportedError(tensor.name, f"a view as {list(shape)} cannot be broadcast")
        return tuple(dims)
