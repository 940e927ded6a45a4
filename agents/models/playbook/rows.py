"""Designs for functions of rows: reductions along the last dimension, and what follows them."""

from functools import cached_property
from typing import ClassVar

from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.elementwise import compute_type
from cutegen.agents.models.playbook.row_moves import (
    BATCH,
    GROUP,
    ONLINE,
    REGISTERS,
    REREAD,
    RING,
    STREAM,
    VECTORIZE,
    batch_of,
    cluster_of,
    depth_of,
    group_of,
    keep,
    threads_of,
)
from cutegen.agents.models.playbook.row_program import RowProgram
from cutegen.spec import KernelSpec

_WARP = 32
_ACCESS_BYTES = 16
_FLOAT_BYTES = 4
_REGISTERS = 64 * 1024  # of a multiprocessor
_SHARED_BYTES = 220 * 1024  # of the 227 KiB that a block of sm_90 may have; sums and barriers too
_REGISTER_VECTORS = 8  # per thread: 32 floats
_CLUSTERS = (1, 2, 4, 8, 16)
_PORTABLE = 8
_HOPPER = 90


class RowDesign(Design):
    """Which decisions are taken, and the numbers that go with them.

    ``columns`` is the width of a row, ``row_bytes`` what a column of all kept operands takes,
    ``vector`` the elements of an access, ``passes`` how often the row is gone through online
    and not, ``shares`` whether rows are only reduced, and share
    operands, ``writes`` whether something is written element by element. They come from the
    spec and never change.
    """

    family: ClassVar[str] = "rows"
    template: ClassVar[str] = "rows.cu.j2"
    plain: ClassVar[str] = "a block per row, which it goes through once per reduction"

    columns: int
    column_bytes: int
    vector: int
    passes_online: int
    passes_plain: int
    hopper: bool = True
    shares: bool = False
    writes: bool = True

    vectorized: bool = False
    online: bool = False
    batch: int = 1
    registers: bool = False  # the row is kept in registers,
    shared: bool = False  # or in the shared memory of a cluster of blocks
    ring: bool = False
    streaming: bool = False
    group: int = 1  # rows of a block
    cluster: int = 1
    threads: int = 256
    depth: int = 4

    def template_name(self) -> str:
        """Rows in shared memory are fed so differently that they have a template of their own."""
        if self.shared:
            return "row_ring.cu.j2"
        return "row_group.cu.j2" if self.group > 1 else self.template

    @property
    def kept(self) -> bool:
        """Whether the row is read once only."""
        return self.registers or self.shared

    @property
    def items(self) -> int:
        """Vectors that a thread keeps in registers."""
        return -(-self.columns // (self.threads * self.vector))

    @property
    def share(self) -> int:
        """Columns of a block, at most."""
        return -(-self.columns // self.cluster)

    @property
    def tiles(self) -> int:
        """Tiles of a warp in shared memory."""
        return -(-self.share // (self.threads * self.vector * self.depth))

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a block's share of the row takes."""
        tile = self.threads * self.vector * self.depth
        return self.tiles * tile * self.column_bytes if self.shared else 0

    @property
    def blocks_per_multiprocessor(self) -> int:
        """Blocks that shared memory lets reside side by side: registers must not prevent it.

        A thread keeps 64 registers at least, 128 where it computes in double precision.
        """
        registers = 64 if self.vector * _FLOAT_BYTES >= _ACCESS_BYTES else 128
        by_registers = _REGISTERS // (self.threads * registers)
        return max(1, min(_SHARED_BYTES // max(1, self.shared_bytes), by_registers))

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, in the order of an expert."""
        if not self.vectorized:
            return (VECTORIZE,)
        moves: list[Move] = []
        if not self.online and self.passes_online < self.passes_plain:
            moves.append(ONLINE)
        if not self.kept and self.passes_plain > 1:
            moves += self._keeping()
        if self.shared and not self.ring:
            moves.append(RING)
        if self.kept and self.online and self.passes_online < self.passes_plain:
            moves.append(REREAD)
        if self.shares and self.group == 1:
            moves.append(GROUP)
        if not self.kept and self.batch == 1:
            moves.append(BATCH)
        if not self.streaming and self.writes:
            moves.append(STREAM)
        return tuple(moves)

    def _keeping(self) -> tuple[Move, ...]:
        """The ways to read the row once that it fits."""
        moves = []
        threads = max(self.threads, _threads_for(self.columns, self.vector))
        if self.columns <= threads * self.vector * _REGISTER_VECTORS:
            fitted = REGISTERS.changes | {"threads": threads}
            moves.append(REGISTERS._replace(changes=fitted))
        if self.hopper:
            fitting = (self._kept_by(cluster) for cluster in _CLUSTERS[:4])
            moves += [move for move in fitting if self._fits_after(move)][:1]
        return tuple(moves)

    def _kept_by(self, cluster: int) -> Move:
        share = -(-self.columns // cluster)
        threads = 512 if share >= 512 * self.vector * 4 else 256
        depth = 4
        while depth > 1 and threads * self.vector * depth > share:
            depth //= 2
        return keep(cluster, threads, depth)

    def _fits_after(self, move: Move) -> bool:
        return self.after(move).shared_bytes <= _SHARED_BYTES

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        return (threads_of(64), VECTORIZE)

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first."""
        wider = (cluster_of(c) for c in _CLUSTERS if self.shared and self.cluster < c <= _PORTABLE)
        fewer = (threads_of(count) for count in (512, 256, 128, 64) if count < self.threads)
        return (*wider, *(() if self.registers else fewer))

    def tuning_moves(self) -> tuple[Move, ...]:
        """Numbers worth trying once the structure has settled."""
        moves = [
            threads_of(n, self.threads) for n in (1024, 512, 256, 128) if self._may_have_threads(n)
        ]
        if self.shared:
            moves += [cluster_of(n) for n in _CLUSTERS if n == self.cluster * 2]
            moves += [depth_of(n, self.depth) for n in (8, 4, 2) if n != self.depth]
        elif not self.registers:
            moves += [batch_of(n, self.batch) for n in (8, 4, 2) if n != self.batch]
        if self.group > 1:
            moves += [group_of(n, self.group) for n in (8, 4, 2) if n != self.group]
        return tuple(move for move in moves if self._fits_after(move))

    def _may_have_threads(self, count: int) -> bool:
        near = self.threads // 2 <= count <= self.threads * 2 and count != self.threads
        held = self.after(threads_of(count)).items <= 2 * _REGISTER_VECTORS
        return near and (held or not self.registers)


class RowPlan:
    """What the templates need to know of a spec, and the design to begin with."""

    def __init__(self, spec: KernelSpec, arch: str = "sm_90a") -> None:
        """Follow the trace.

        Raises:
            UnsupportedError: The function is no program over rows.
        """
        self.spec = spec
        self.compute = compute_type(spec)
        self._programs = {
            online: RowProgram(spec, self.compute, online=online) for online in (False, True)
        }
        plain = self._programs[False]
        sizes = [c.tensor.dtype.itemsize for c in plain.dense]
        sizes += [output.tensor.dtype.itemsize for output in plain.written]
        self.vector = _ACCESS_BYTES // max(sizes)
        self.alignment = _ACCESS_BYTES // min(sizes)
        self.first = RowDesign(
            columns=plain.shape[-1],
            column_bytes=sum(column.tensor.dtype.itemsize for column in plain.dense),
            vector=self.vector,
            passes_online=self._programs[True].passes,
            passes_plain=plain.passes,
            shares=plain.shares,
            writes=bool(plain.written),
            hopper=int("".join(filter(str.isdigit, arch))) >= _HOPPER,
            threads=min(256, _threads_for(plain.shape[-1], 1)),
        )

    @cached_property
    def rank(self) -> int:
        """Dimensions of what is reduced."""
        return len(self._programs[False].shape)

    def render(self, design: RowDesign) -> str:
        """The source of one design."""
        program = self._programs[design.online]
        return design.render(plan=self, spec=self.spec, program=program, suffix=program.suffix)

    def fits(self, design: RowDesign) -> bool:
        """Whether the design's shared memory is no more than a block may have."""
        return design.shared_bytes <= _SHARED_BYTES


def _threads_for(columns: int, vector: int) -> int:
    """A block that the vectors of a row fill, of 64 to 1024 threads."""
    threads = 2 * _WARP
    while threads < 1024 and threads * vector * 4 < columns:  # noqa: PLR2004 - the largest block
        threads *= 2
    return threads
