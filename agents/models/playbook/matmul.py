"""The matrix-product designs: from one output per thread to tiles in shared memory and on."""

from typing import ClassVar

from cutegen.agents.models.playbook.chain import Chain
from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.effects import Effect
from cutegen.agents.models.playbook.elementwise import Slot, compute_type, operand_slots
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

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, in the order of an expert."""
        if self.registers:
            return () if self.prefetch else (_PREFETCH,)
        return (_REGISTERS,) if self.tiled else (_TILE, _REGISTERS)

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        return (_tile(_SMALLEST_TILE), _TILE, _REGISTERS)

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first.

        The block tile shrinks before the depth does: half of a depth is where tuning came from,
        and a design that was tried is no repair.
        """
        if not self.registers:
            return (_tile(_SMALLEST_TILE),) if self.tile > _SMALLEST_TILE else ()
        blocks = [(m, n) for m, n in _BLOCKS if m * n < self.block_m * self.block_n]
        depths = [depth for depth in (16, 8) if depth < self.block_k]
        return (
            *(_block(m, n) for m, n in blocks),
            *(_small(m, n, depth) for depth in depths for m, n in blocks),
            *(_depth(depth) for depth in depths),
        )

    def tuning_moves(self) -> tuple[Move, ...]:
        """Numbers worth trying once the structure has settled."""
        if not self.registers:
            return tuple(_tile(extent, self) for extent in (32, 8) if extent != self.tile)
        depths = {self.block_k * 2, self.block_k // 2} & {8, 16, 32}
        blocks = (block for block in _BLOCKS if block != (self.block_m, self.block_n))
        return (
            *(_depth(extent, self) for extent in sorted(depths, reverse=True)),
            *(_block(m, n) for m, n in blocks),
        )


_TILE = Move(
    "stage square tiles of both factors in shared memory",
    "each element is read from global memory once per tile instead of once per output",
    {"tiled": True},
)
_REGISTERS = Move(
    "a register tile of 8x8 outputs per thread with TiledMMA, and 128-bit copies of the factors",
    "four FMAs per value read from shared memory instead of a half: up to several times faster",
    {"tiled": True, "registers": True},
)
_PREFETCH = Move(
    "double-buffer the tiles: load the next one while this one is multiplied",
    "the latency of global memory hides behind arithmetic, and one barrier per tile is enough",
    {"prefetch": True},
)


def _tile(extent: int, before: MatmulDesign | None = None) -> Move:
    return Move(
        f"tiles of {extent}x{extent}",
        "more reuse per load against fewer resident blocks",
        {"tile": extent},
        Effect.REUSE if before and extent > before.tile else Effect.SMALLER,
    )


def _depth(extent: int, before: MatmulDesign | None = None) -> Move:
    return Move(
        f"a block tile {extent} deep in K",
        "fewer barriers per multiplication against less shared memory",
        {"block_k": extent},
        Effect.IN_FLIGHT if before and extent > before.block_k else Effect.SMALLER,
    )


def _block(m: int, n: int) -> Move:
    return Move(
        f"block tiles of {m}x{n}",
        "more blocks to fill the machine with, against less reuse per block",
        {"block_m": m, "block_n": n},
        Effect.SMALLER,
    )


def _small(m: int, n: int, depth: int) -> Move:
    return Move(
        f"block tiles of {m}x{n}, {depth} deep in K",
        "a block that fits",
        {"block_m": m, "block_n": n, "block_k": depth},
        Effect.SMALLER,
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
        return MatmulDesign(block_k=16 if self.compute is DType.FLOAT32 else 8)

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
