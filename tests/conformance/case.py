"""A case: a kernel, its two inputs, the exact answer, and how far off a right answer may be."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from conformance.units import Block, block
from cutegen.reference import Reference
from cutegen.spec import Case, DType, KernelClass, KernelSpec, MathMode, ScalarArg, TensorArg

Exact = npt.NDArray[np.generic]
"""float64 for floating types, int64 for integers."""

UNIT_ROUNDOFF = {
    DType.FLOAT64: 2.0**-53,
    DType.FLOAT32: 2.0**-24,
    DType.FLOAT16: 2.0**-11,
    DType.BFLOAT16: 2.0**-8,
}


@dataclass(frozen=True)
class Operand:
    """One input matrix. ``draw`` makes it of a generator and the shape, in float64 or int64."""

    shape: tuple[int, int]
    dtype: DType = DType.FLOAT32
    draw: Callable[[np.random.Generator, tuple[int, int]], Exact] = lambda rng, shape: (
        rng.standard_normal(shape)
    )


def integers(low: int, high: int) -> Callable[[np.random.Generator, tuple[int, int]], Exact]:
    """Whole numbers from ``low`` to ``high`` - 1."""
    return lambda rng, shape: rng.integers(low, high, shape)


NOTHING = Operand((1, 1))


@dataclass(frozen=True)
class Bound:
    """How far a right answer may be from the exact one, per element.

    ``steps`` roundings to ``unit``, relative to ``magnitude`` (the sum of the absolute values
    that are added; the largest exact value when None), and one to the output's own type. Zero
    steps mean equal bits.
    """

    steps: float = 0
    unit: float = UNIT_ROUNDOFF[DType.FLOAT32]
    magnitude: Callable[[Exact, Exact], Exact] | None = None

    @property
    def bitwise(self) -> bool:
        """Whether equal bits are asked for."""
        return not self.steps

    def allowed(self, a: Exact, b: Exact, exact: Exact, dtype: DType) -> npt.NDArray[np.float64]:
        """The bound of every element."""
        size = np.abs(exact).max() if self.magnitude is None else self.magnitude(a, b)
        own = UNIT_ROUNDOFF.get(dtype, 0) * np.abs(exact)
        return np.asarray(self.steps * self.unit * size + own)


EQUAL_BITS = Bound()


@dataclass(frozen=True)
class KernelCase:
    """One kernel on one choice of shapes."""

    name: str
    unit: str
    a: Operand
    out: tuple[tuple[int, int], DType]
    exact: Callable[[Exact, Exact], Exact]
    b: Operand = NOTHING
    bound: Bound = EQUAL_BITS
    kernel: str = ""  # the block, where several cases share one
    technique: str = field(kw_only=True)

    @property
    def block(self) -> Block:
        """The kernel's text."""
        return block(self.unit, self.kernel or self.name)

    def inputs(self) -> dict[str, Tensor]:
        """The same on every machine."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return {
            name: torch.from_numpy(np.asarray(operand.draw(rng, operand.shape))).to(
                operand.dtype.torch
            )
            for name, operand in (("a", self.a), ("b", self.b))
        }

    def answers(self) -> tuple[Exact, Exact, Exact]:
        """Both inputs as the kernel sees them, and the exact result."""
        a, b = (wide(tensor) for tensor in self.inputs().values())
        return a, b, np.asarray(self.exact(a, b)).reshape(self.out[0])

    def spec(self, which: int) -> KernelSpec:
        """The launch contract with this case's shapes, for kernel number ``which`` of a unit."""
        a, b = (
            TensorArg(name=name, role="input", dtype=operand.dtype, shape=operand.shape)
            for name, operand in (("a", self.a), ("b", self.b))
        )
        out = TensorArg(name="out", role="output", dtype=self.out[1], shape=self.out[0])
        return KernelSpec(
            name=self.name,
            reference=Reference(kind="source", text=""),
            arguments=(a, b, ScalarArg(name="which", c_type="int64_t", value=which)),
            timed=Case(name=self.name, tensors=(a, b, out)),
            checks=(),
            kernel_class=KernelClass.GENERIC,
            math_mode=MathMode.FP32,
            trace=(),
        )


def wide(tensor: Tensor) -> Exact:
    """A tensor as float64 or int64."""
    kind = torch.float64 if tensor.dtype.is_floating_point else torch.int64
    return np.asarray(tensor.cpu().to(kind).numpy())


def narrow(exact: Exact, dtype: DType) -> Tensor:
    """The exact result, rounded once to the type of the output."""
    return torch.from_numpy(np.ascontiguousarray(exact)).to(dtype.torch)
