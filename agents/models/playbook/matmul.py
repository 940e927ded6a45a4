"""The matrix-product designs: from one output per thread to tiles in shared memory and on."""

from typing import ClassVar

from cutegen.agents.models.playbook.chain import Chain
from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.elementwise import Slot, compute_type, operand_slots
from cutegen.agents.models.playbook.matmul_moves import (
    PREFETCH,
    REGISTERS,
    TENSOR,
    TILE,
    block_of,
    depth_of,
    small_block,
    square_tile,
    stages_of,
)
from cutegen.agents.models.playbook.operands import Operands
from cutegen.agents.models.playbook.product import Product, find_product
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, KernelSpec

_SMALLEST_TILE = 8
_BLOCKS = ((64, 128), (64, 64))  # smaller than 128x128; at least 16 threads with groups of four
_STATIC_SHARED_BYTES = 48 * 1024  # per block, on every architecture


class MatmulDesign(Design):
    """Which decisions are taken, and the numbers that go with them.

    ``block_m``, ``block_n`` and ``block_k`` are extents of the register-tiled design's block
    tile; the designs before it use square tiles of ``tile``.
    """

    family: ClassVar[str] = "matmul"
    template: ClassVar[str] = "matmul.cu.j2"

    tiled: bool = False
    registers: bool = False
    prefetch: bool = False
    tile: int = 16
    block_m: int = 128
    block_n: int = 128
    block_k: int = 16
    half: bool = False  # the factors are of one 16-bit type: tensor cores multiply them
    tensor: bool = False
    stages: int = 3

    def template_name(self) -> str:
        """Tensor cores are fed so differently that they have a template of their own."""
        return "tensor_matmul.cu.j2" if self.tensor else self.template

    def tensor_bytes(self) -> int:
        """Bytes of static shared memory that the design on tensor cores takes per block."""
        return 2 * (self.block_m + self.block_n) * self.block_k * self.stages

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, in the order of an expert."""
        if self.tensor:
            return ()
        cores = (TENSOR,) if self.half else ()
        if self.registers:
            return cores if self.prefetch else (*cores, PREFETCH)
        return (*cores, REGISTERS) if self.tiled else (TILE, *cores, REGISTERS)

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        return (square_tile(_SMALLEST_TILE), TILE, TENSOR if self.half else REGISTERS)

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first.

        The block tile shrinks before the depth does: half of a depth is where tuning came from,
        and a design that was tried is no repair.
        """
        if self.tensor:
            return tuple(block_of(m, n) for m, n in _BLOCKS if m * n < self.block_m * self.block_n)
        if not self.registers:
            return (square_tile(_SMALLEST_TILE),) if self.tile > _SMALLEST_TILE else ()
        blocks = [(m, n) for m, n in _BLOCKS if m * n < self.block_m * self.block_n]
        depths = [depth for depth in (16, 8) if depth < self.block_k]
        return (
            *(block_of(m, n) for m, n in blocks),
            *(small_block(m, n, depth) for depth in depths for m, n in blocks),
            *(depth_of(depth) for depth in depths),
        )

    def tuning_moves(self) -> tuple[Move, ...]:
        """Numbers worth trying once the structure has settled."""
        if self.tensor:
            return self._tensor_tuning()
        if not self.registers:
            return tuple(
                square_tile(extent, self.tile) for extent in (32, 8) if extent != self.tile
            )
        depths = {self.block_k * 2, self.block_k // 2} & {8, 16, 32}
        blocks = (block for block in _BLOCKS if block != (self.block_m, self.block_n))
        return (
            *(depth_of(extent, self.block_k) for extent in sorted(depths, reverse=True)),
            *(block_of(m, n) for m, n in blocks),
        )

    def _tensor_tuning(self) -> tuple[Move, ...]:
        """What fits: a depth of 64 and four stages need smaller blocks."""
        blocks = (block for block in _BLOCKS if block != (self.block_m, self.block_n))
        moves = (
            *(stages_of(stages, self.stages) for stages in (4, 2) if stages != self.stages),
            *(depth_of(extent, self.block_k) for extent in (64, 32) if extent != self.block_k),
            *(block_of(m, n) for m, n in blocks),
        )
        return tuple(
            move for move in moves if self.after(move).tensor_bytes() <= _STATIC_SHARED_BYTES
        )


class MatmulPlan:
    """What the template needs to know of a spec: the factors, and the epilogue chain."""

    def __init__(self, spec: KernelSpec) -> None:
        """Find the product, and follow the trace from it to the output.

        Raises:
            UnsupportedError: There is not exactly one product of leaf tensors, or what follows
                it is not elementwise.
        """
        self.spec = spec
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
        return MatmulDesign(
            block_k=16 if self.compute is DType.FLOAT32 else 8,
            half=half and self.compute is DType.FLOAT32,
        )

    def render(self, design: MatmulDesign) -> str:
        """The source of one design."""
        return design.render(plan=self, spec=self.spec, product=self.product)

    def fits(self, design: MatmulDesign) -> bool:
        """Whether the design's static shared memory is no more than a block may have."""
        return self.shared_bytes(design) <= _STATIC_SHARED_BYTES

    def shared_bytes(self, design: MatmulDesign) -> int:
        """Bytes of static shared memory per block."""
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
