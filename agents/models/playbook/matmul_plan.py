"""What the matrix-product templates need to know of a spec."""

from math import prod

from cutegen.agents.models.playbook.chain import Chain
from cutegen.agents.models.playbook.elementwise import Slot, compute_type, operand_slots
from cutegen.agents.models.playbook.matmul import (
    DYNAMIC_SHARED_BYTES,
    STATIC_SHARED_BYTES,
    MatmulDesign,
)
from cutegen.agents.models.playbook.operands import Operands
from cutegen.agents.models.playbook.product import Product, find_product
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, KernelSpec, MathMode
from cutegen.toolchain.nvcc import DEFAULT_ARCH

_TILE = 128
_FEW_TILES = 66  # half of the multiprocessors of an H100 or H200
_LONG = 4096
_SHORT = 128


class MatmulPlan:
    """What the template needs to know of a spec: the factors, and the epilogue chain."""

    def __init__(self, spec: KernelSpec, arch: str = DEFAULT_ARCH) -> None:
        """Find the product, and follow the trace from it to the output.

        Args:
            spec: The function.
            arch: The target, which decides what instructions there are.

        Raises:
            UnsupportedError: There is not exactly one product of leaf tensors, or what follows
                it is not elementwise.
        """
        self.spec = spec
        self._hopper = arch == DEFAULT_ARCH
        self.outputs = spec.timed.of("output")
        self.product: Product = find_product(spec)
        if any(out.shape != self.product.shape for out in self.outputs):
            raise UnsupportedError(self.product.op, "its result is reshaped or reduced afterwards")
        self.rank = len(self.product.shape)
        self.compute = compute_type(spec)
        operands = Operands(spec, self.product.shape)
        chain = self._epilogue(operands)
        self.statements = tuple(chain.statements)
        self.results = tuple(chain.names[name] for name in spec.results)
        self.slots: tuple[Slot, ...] = operand_slots(operands, chain)

    def part_type(self, design: MatmulDesign) -> str:
        """What wgmma multiplies."""
        if design.half:
            return self.product.a.tensor.dtype.c_type
        return "cutlass::half_t" if design.halves else "cutlass::tfloat32_t"

    @property
    def writes_bool(self) -> bool:
        """Whether an output holds truth values."""
        return any(output.dtype is DType.BOOL for output in self.outputs)

    @property
    def pad(self) -> int:
        """Elements between columns of a tile: they keep 16-byte alignment, and off one bank."""
        return self.product.a.vector if self.compute is DType.FLOAT32 else 2

    @property
    def first(self) -> MatmulDesign:
        """The plain design; double-precision tiles are half as deep, as they are twice as wide."""
        types = {self.product.a.tensor.dtype, self.product.b.tensor.dtype}
        half = len(types) == 1 and types <= {DType.FLOAT16, DType.BFLOAT16}
        single = types == {DType.FLOAT32}
        return MatmulDesign(
            block_k=16 if self.compute is DType.FLOAT32 else 8,
            half=half and self.compute is DType.FLOAT32,
            hopper=self._hopper and (single or half) and self.compute is DType.FLOAT32,
            triangle=bool(self.product.triangle),
            deep=self._is_deep(),
            shallow=self._depth() <= _SHORT,
            passes=3 if single and self.spec.math_mode is MathMode.FP32 else 1,
        )

    def _is_deep(self) -> bool:
        """Whether tiles of the timed result leave most multiprocessors idle, and K is long."""
        *leading, rows, columns = (1, *self.product.shape)
        tiles = -(-rows // _TILE) * -(-columns // _TILE) * prod(leading)
        return not self.product.triangle and tiles <= _FEW_TILES and self._depth() >= _LONG

    def _depth(self) -> int:
        return self.product.a.tensor.shape[-2 if self.product.a.swapped else -1]

    def render(self, design: MatmulDesign) -> str:
        """The source of one design."""
        return design.render(plan=self, spec=self.spec, product=self.product)

    def fits(self, design: MatmulDesign) -> bool:
        """Whether the design's shared memory is no more than a block may have."""
        most = DYNAMIC_SHARED_BYTES if design.wgmma else STATIC_SHARED_BYTES
        return self.shared_bytes(design) * design.resident <= most

    def shared_bytes(self, design: MatmulDesign) -> int:
        """Bytes of shared memory per block."""
        if design.wgmma:
            return design.ring_bytes()
        if not design.tiled:
            return 0
        if design.tensor:
            return design.tensor_bytes()
        if not design.registers:
            return 2 * design.tile * (design.tile + 1) * self.compute.itemsize
        rows = design.block_m + design.block_n + 2 * self.pad
        stages = 2 if design.prefetch else 1
        return rows * design.block_k * stages * self.compute.itemsize

    def _epilogue(self, operands: Operands) -> Chain:
        before = self.product.consumed
        for op in self.spec.trace:
            operands.is_view(op)
        names = {name: f"x_{name}" for name in operands.names()}
        names |= {scalar.name: f"s_{scalar.name}" for scalar in self.spec.scalars}
        chain = Chain(names | {self.product.name: "acc"}, self.compute)
        if self.product.bias:
            chain.add_sum(self.product.name, "acc", self.product.bias)
        for op in self.spec.trace:
            if op.name not in before:
                chain.add(op)
        return chain
