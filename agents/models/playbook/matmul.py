"""The matrix-product designs: from one output per thread to tiles in shared memory and on."""

from typing import ClassVar

from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.matmul_moves import (
    FUSED,
    HALVES,
    MULTICAST,
    PREFETCH,
    REGISTERS,
    SPLIT,
    TENSOR,
    TILE,
    block_of,
    chain_of,
    depth_of,
    small_block,
    square_tile,
    stages_of,
    wgmma_of,
)

_SMALLEST_TILE = 8
_BLOCKS = ((64, 128), (64, 64))  # smaller than 128x128; at least 16 threads with groups of four
_WIDTHS = (256, 192, 128, 64)  # of a block tile that wgmma multiplies
_LINE = 128  # bytes of a row of such a tile: a line of TMA's widest swizzle
_STORE_BYTES = 2560  # of a warp, to turn 16 rows of sums
_BARRIERS = 1024  # bytes, with what alignment takes
_REGISTERS = 96  # per thread for sums, where they are kept twice
STATIC_SHARED_BYTES = 48 * 1024
"""Per block, on every architecture."""
DYNAMIC_SHARED_BYTES = 227 * 1024
"""Per block of sm_90, when a kernel asks for it."""


class MatmulDesign(Design):
    """Which decisions are taken, and the numbers that go with them.

    ``block_m``, ``block_n`` and ``block_k`` are extents of the register-tiled design's block
    tile; the designs before it use square tiles of ``tile``. With ``wgmma`` a block tile is 128
    bytes deep. What the spec and the machine allow stands beside the decisions: ``half`` for
    factors of one 16-bit type, ``hopper`` for wgmma and TMA, ``passes`` for the products of parts
    that make one product of factors, ``deep`` for fewer tiles than multiprocessors and a long K,
    ``triangle`` for a result with tiles that hold nothing but zeros, ``shallow`` for a K so short
    that writing the result takes longest.
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
    half: bool = False
    tensor: bool = False
    stages: int = 3
    hopper: bool = False
    passes: int = 1
    wgmma: bool = False
    halves: bool = False
    fused: bool = False
    resident: int = 1
    cluster: int = 1
    chain: int = 1
    triangle: bool = False
    deep: bool = False
    shallow: bool = False
    split: bool = False

    def template_name(self) -> str:
        """Tensor cores are fed so differently that they have templates of their own."""
        if self.wgmma:
            return "hopper_matmul.cu.j2"
        return "tensor_matmul.cu.j2" if self.tensor else self.template

    @property
    def consumers(self) -> int:
        """Threads that multiply by wgmma: a warpgroup for 64 rows."""
        return 2 * self.block_m

    @property
    def parts(self) -> int:
        """Parts that wgmma's factors are split into."""
        return 2 if self.passes > 1 else 1

    def ring_bytes(self) -> int:
        """Bytes of dynamic shared memory that the design with wgmma takes per block."""
        rows = _LINE * (self.block_m + self.block_n)
        if self.fused:  # a row of a tile in fp32 is two lines; split, B's are in two buffers
            ring = 2 * rows * self.stages + (2 * _LINE * self.parts + 8) * self.block_n
        else:
            ring = rows * self.parts * self.stages
        return ring + _STORE_BYTES * self.consumers // 32 + _BARRIERS

    def tensor_bytes(self) -> int:
        """Bytes of static shared memory that the design on tensor cores takes per block."""
        return 2 * (self.block_m + self.block_n) * self.block_k * self.stages

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, in the order of an expert."""
        if self.wgmma:
            return self._hopper_moves()
        hopper = (wgmma_of(self.passes, self.shallow),) if self.hopper else ()
        if self.tensor:
            return hopper
        cores = (TENSOR,) if self.half else ()
        if self.registers:
            return (*cores, *hopper) if self.prefetch else (*cores, PREFETCH, *hopper)
        registers = (REGISTERS,) if self.tiled else (TILE, REGISTERS)
        return (*registers[:-1], *cores, registers[-1], *hopper)

    def _hopper_moves(self) -> tuple[Move, ...]:
        split = (SPLIT,) if self.deep and not self.split else ()
        halves = () if self.halves or self.half else (HALVES,)
        # many tiles share a factor: it would be split once for each of them
        fused: tuple[Move, ...] = ()
        if self.halves and not (self.fused or self.shallow):
            fused = (FUSED._replace(alternative=not self.deep),)
        single = self.triangle or self.resident > 1
        multicast = (MULTICAST,) if self.cluster == 1 and not single else ()
        return (*split, *halves, *multicast, *fused)

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        return (square_tile(_SMALLEST_TILE), TILE, TENSOR if self.half else REGISTERS)

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first.

        The block tile shrinks before the depth does: half of a depth is where tuning came from,
        and a design that was tried is no repair.
        """
        if self.tensor or self.wgmma:
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
        if self.wgmma:
            return self._hopper_tuning()
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
            move for move in moves if self.after(move).tensor_bytes() <= STATIC_SHARED_BYTES
        )

    def _hopper_tuning(self) -> tuple[Move, ...]:
        """What fits shared memory, and registers where sums are kept twice."""
        chains = (2, 4, 1) if self.passes > 1 and not self.fused else ()
        widest = _REGISTERS * 2 if self.passes > 1 else max(_WIDTHS)
        moves = (
            *(chain_of(tiles, self.chain) for tiles in chains if tiles != self.chain),
            *(
                stages_of(stages, self.stages)
                for stages in range(6, 1, -1)
                if stages != self.stages
            ),
            *(
                block_of(self.block_m, width, self.block_n)
                for width in _WIDTHS
                if width != self.block_n and width <= widest
            ),
        )
        return tuple(
            move
            for move in moves
            if self.after(move).ring_bytes() * self.resident <= DYNAMIC_SHARED_BYTES
        )
