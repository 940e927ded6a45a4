"""KernelSpec: everything CuTeGen needs to know about the function to be replaced."""

import hashlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Literal

import torch
from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.math_mode import MathMode as MathMode  # noqa: PLC0414 - offered here too
from cutegen.reference import Reference
from cutegen.spec_error import SpecError as SpecError  # noqa: PLC0414 - offered here too


class DType(StrEnum):
    """Element types a kernel may read or write."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT64 = "int64"
    INT32 = "int32"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def torch(self) -> torch.dtype:
        """The same type in PyTorch."""
        dtype = getattr(torch, self.value)
        assert isinstance(dtype, torch.dtype)
        return dtype

    @property
    def c_type(self) -> str:
        """The same type in the generated header (DESIGN §3)."""
        return _C_TYPES[self]

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.torch.itemsize

    @property
    def is_floating(self) -> bool:
        """Whether values are floating point."""
        return self.torch.is_floating_point


_C_TYPES = {
    DType.FLOAT64: "double",
    DType.FLOAT32: "float",
    DType.FLOAT16: "cutlass::half_t",
    DType.BFLOAT16: "cutlass::bfloat16_t",
    DType.INT64: "int64_t",
    DType.INT32: "int32_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.BOOL: "bool",
}


class KernelClass(StrEnum):
    """What kind of work the traced reference does; it selects guides and policies."""

    MATMUL = "matmul"
    ACTIVATION = "activation"
    REDUCTION = "reduction"
    GENERIC = "generic"


class TensorArg(Frozen):
    """One tensor of the contract: contiguous, row-major, 16-byte aligned."""

    name: str
    role: Literal["input", "parameter", "buffer", "output"]
    dtype: DType
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel * self.dtype.itemsize


class ScalarArg(Frozen):
    """One scalar argument of ``forward``, with the value the reference was given."""

    name: str
    c_type: Literal["double", "int64_t", "bool"]
    value: bool | int | float


class Case(Frozen):
    """One choice of shapes for every tensor: inputs, then state, then outputs."""

    name: str
    tensors: tuple[TensorArg, ...]

    def of(self, *roles: str) -> tuple[TensorArg, ...]:
        """The tensors that have one of ``roles``, in contract order."""
        return tuple(tensor for tensor in self.tensors if tensor.role in roles)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors together: the least a kernel must move."""
        return sum(tensor.nbytes for tensor in self.tensors)


class TracedOp(Frozen):
    """One ATen operation of the traced reference, in execution order.

    ``op`` is an ATen overload such as ``aten.mul.Tensor``, or ``getitem`` for one of several
    results. ``args`` and ``kwargs`` hold JSON: a reference to another value is
    ``{"ref": name}``, where the name is an input, a scalar, a state tensor or an earlier
    operation; an extent is ``{"size": formula}`` over fields of the contract, such as
    ``x_shape[0]``; dtypes are names; infinities and NaN are the strings of ``str(float)``.
    ``shape`` is the shape of the result (the first, if several) at the timed case.
    """

    name: str
    op: str
    args: tuple[JsonValue, ...]
    kwargs: dict[str, JsonValue]
    shape: tuple[int, ...]
    dtype: DType


class KernelSpec(Frozen):
    """The function to be replaced: reference, arguments, shapes and math mode.

    ``arguments`` are those of ``forward`` in order, at the timed shapes. ``timed`` is the
    case that is measured (and checked too); ``checks`` are scaled-down cases of the same
    rank, at least two of which are no multiple of a power-of-two tile wherever the
    reference allows it. ``trace`` holds what the outputs depend on, and is empty for code
    that cannot be traced; ``results`` names, per output, the traced value it is.
    """

    name: str
    reference: Reference
    arguments: tuple[TensorArg | ScalarArg, ...]
    timed: Case
    checks: tuple[Case, ...]
    kernel_class: KernelClass
    math_mode: MathMode
    trace: tuple[TracedOp, ...]
    results: tuple[str, ...] = ()

    @classmethod
    def from_kernelbench(
        cls,
        path: str | Path,
        *,
        name: str | None = None,
        math_mode: str = "fp32",
        check_shapes: Sequence[Sequence[Sequence[int]]] | None = None,
        seed: int = 0,
    ) -> "KernelSpec":
        """Derive a spec from a KernelBench-format file, which is executed.

        Specs of files that import nothing of the user's are kept in the cache: the second time
        takes milliseconds.

        Args:
            path: A file with ``Model``, ``get_inputs`` and, if needed, ``get_init_inputs``.
            name: What to call it; the file's stem by default.
            math_mode: The arithmetic allowed, a value of ``MathMode``.
            check_shapes: Per check, one shape for each tensor input; derived if None.
            seed: Where parameters start.

        Raises:
            SpecError: The reference is refused, with the reason and what to do.
        """
        from cutegen.known_specs import from_file  # noqa: PLC0415 - needs these nouns

        return from_file(path, name=name, math_mode=math_mode, check_shapes=check_shapes, seed=seed)

    @classmethod
    def from_module(
        cls,
        module: torch.nn.Module,
        inputs: Sequence[object],
        *,
        name: str | None = None,
        math_mode: str = "fp32",
        check_shapes: Sequence[Sequence[Sequence[int]]] | None = None,
        seed: int = 0,
    ) -> "KernelSpec":
        """Derive a spec from a module and the inputs it is to be timed on.

        The module is pickled into the spec as it is, parameters and all; of the inputs only
        shapes, dtypes and scalar values are kept. The other arguments are those of
        ``from_kernelbench``.

        Raises:
            SpecError: The reference is refused, with the reason and what to do.
        """
        from cutegen.derivation import from_object  # noqa: PLC0415 - needs these nouns

        return from_object(
            module, inputs, name=name, math_mode=math_mode, check_shapes=check_shapes, seed=seed
        )

    @classmethod
    def from_callable(
        cls,
        function: Callable[..., object],
        inputs: Sequence[object],
        *,
        name: str | None = None,
        math_mode: str = "fp32",
        check_shapes: Sequence[Sequence[Sequence[int]]] | None = None,
        seed: int = 0,
    ) -> "KernelSpec":
        """Derive a spec from a function of tensors, like ``from_module``.

        Raises:
            SpecError: The reference is refused, with the reason and what to do.
        """
        from cutegen.derivation import from_object  # noqa: PLC0415 - needs these nouns

        return from_object(
            function, inputs, name=name, math_mode=math_mode, check_shapes=check_shapes, seed=seed
        )

    @cached_property
    def id(self) -> str:
        """Content hash: equal for equal specs, on every machine."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def scalars(self) -> tuple[ScalarArg, ...]:
        """Scalar arguments in ``forward`` order."""
        return tuple(arg for arg in self.arguments if isinstance(arg, ScalarArg))
