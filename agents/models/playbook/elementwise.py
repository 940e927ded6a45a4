"""The elementwise designs: one functor, and a ladder of ways to stream data through it."""

from typing import ClassVar

from cutegen.agents.models.playbook.chain import Chain
from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.effects import Effect
from cutegen.agents.models.playbook.operands import Operand, Operands
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.frozen import Frozen
from cutegen.spec import DType, KernelSpec, TensorArg

_ACCESS_BYTES = 16
_FEWEST_THREADS = 64


class ElementwiseDesign(Design):
    """Which decisions are taken, and the numbers that go with them."""

    family: ClassVar[str] = "elementwise"
    template: ClassVar[str] = "elementwise.cu.j2"

    vectorized: bool = False
    batch: int = 1
    streaming: bool = False
    persistent: bool = False
    threads: int = 256
    ctas_per_sm: int = 8

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, largest expected gain first."""
        if not self.vectorized:
            return (_VECTORIZE,)
        moves = []
        if self.batch == 1:
            moves.append(_BATCH)
        if not self.streaming:
            moves.append(_STREAM)
        if not self.persistent:
            moves.append(_PERSIST)
        return tuple(moves)

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        return (_threads(_FEWEST_THREADS), _VECTORIZE)

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first."""
        batches = (_batch(count) for count in (4, 2) if count < self.batch)
        threads = (_threads(count) for count in (256, 128, 64) if count < self.threads)
        return (*batches, *threads)

    def tuning_moves(self) -> tuple[Move, ...]:
        """Numbers worth trying once the structure has settled."""
        moves = [_threads(count, self) for count in (512, 128) if count != self.threads]
        if self.batch > 1:
            moves += [_batch(count, self) for count in (8, 2) if count != self.batch]
        if self.persistent:
            moves += [_ctas(count, self) for count in (16, 4) if count != self.ctas_per_sm]
        return tuple(moves)


_VECTORIZE = Move(
    "move 128 bits per instruction: a copy atom as wide as the widest type allows, scalar tail",
    "a quarter of the memory instructions; the larger part of the way to the copy bandwidth",
    {"vectorized": True},
)
_BATCH = Move(
    "issue several independent vector loads per thread before the first is used",
    "64 bytes on their way per thread hide the latency of DRAM: a few percent nearer the roof",
    {"batch": 4},
)
_STREAM = Move(
    "load and store with streaming cache hints, since every byte is used once",
    "lines that nobody reads again leave L2 first: a few percent where write-back competes",
    {"streaming": True},
)
_PERSIST = Move(
    "a persistent grid that strides over tiles instead of one block per tile",
    "no launch of a block per tile and no last partial wave: a few percent on large tensors",
    {"persistent": True},
)


def _threads(count: int, before: ElementwiseDesign | None = None) -> Move:
    return Move(
        f"{count} threads per block",
        "another granularity of scheduling at equal bytes in flight",
        {"threads": count},
        Effect.SMALLER if before and count < before.threads else Effect.OTHER,
    )


def _batch(count: int, before: ElementwiseDesign | None = None) -> Move:
    return Move(
        f"{count} vector loads in flight per thread",
        f"{count * _ACCESS_BYTES} bytes on their way per thread",
        {"batch": count},
        Effect.IN_FLIGHT if before and count > before.batch else Effect.SMALLER,
    )


def _ctas(count: int, before: ElementwiseDesign) -> Move:
    return Move(
        f"{count} blocks per multiprocessor",
        "more resident blocks hide more latency; fewer leave more of L1 to each",
        {"ctas_per_sm": count},
        Effect.IN_FLIGHT if count > before.ctas_per_sm else Effect.OTHER,
    )


class Slot(Frozen):
    """An operand under the name that the functor gives it."""

    name: str
    operand: Operand


class ElementwisePlan:
    """What the templates need to know of a spec: operands, statements, results."""

    def __init__(self, spec: KernelSpec) -> None:
        """Follow the trace from leaves to outputs.

        Raises:
            UnsupportedError: The function is no chain of elementwise operations.
        """
        if not spec.trace:
            raise UnsupportedError("forward", "the reference could not be traced")
        self.spec = spec
        self.outputs = spec.timed.of("output")
        _check_outputs(self.outputs)
        self.rank = len(self.outputs[0].shape)
        self.compute = compute_type(spec)
        operands = Operands(spec, self.outputs[0].shape)
        chain = self._follow(operands)
        self.statements = tuple(chain.statements)
        self.results = tuple(_result(chain, name) for name in spec.results)
        self.slots = operand_slots(operands, chain)
        self.vector = _ACCESS_BYTES // max(tensor.dtype.itemsize for tensor in self.dense_tensors)

    @property
    def dense_tensors(self) -> tuple[TensorArg, ...]:
        """Tensors whose elements correspond one to one to those of the output."""
        dense = (slot.operand.tensor for slot in self.slots if slot.operand.dense)
        return (*dense, *self.outputs)

    @property
    def writes_bool(self) -> bool:
        """Whether an output holds truth values."""
        return any(output.dtype is DType.BOOL for output in self.outputs)

    @property
    def first(self) -> ElementwiseDesign:
        """The plain design: one element per thread."""
        return ElementwiseDesign()

    def render(self, design: ElementwiseDesign) -> str:
        """The source of one design."""
        return design.render(plan=self, spec=self.spec)

    def fits(self, design: ElementwiseDesign) -> bool:  # noqa: ARG002 - asked of every family
        """Whether a block of the design fits a multiprocessor; it has no shared memory to fit."""
        return True

    def _follow(self, operands: Operands) -> Chain:
        views = {op.name for op in self.spec.trace if operands.is_view(op)}
        names = {name: _slot(name) for name in operands.names()}
        names |= {scalar.name: f"s_{scalar.name}" for scalar in self.spec.scalars}
        chain = Chain(names, self.compute)
        for op in self.spec.trace:
            if op.name not in views:
                chain.add(op)
        return chain


def compute_type(spec: KernelSpec) -> DType:
    """The type of the arithmetic: float64 where any value has it, else float32."""
    dtypes = {tensor.dtype for tensor in spec.timed.tensors} | {op.dtype for op in spec.trace}
    return DType.FLOAT64 if DType.FLOAT64 in dtypes else DType.FLOAT32


def operand_slots(operands: Operands, chain: Chain) -> tuple[Slot, ...]:
    """The operands that a chain reads, in contract order."""
    return tuple(
        Slot(name=_slot(name), operand=operands.leaf(name))
        for name in operands.names()
        if name in chain.used
    )


def _slot(name: str) -> str:
    return f"x_{name}"


def _result(chain: Chain, name: str) -> str:
    chain.used.add(name)
    return chain.names[name]


def _check_outputs(outputs: tuple[TensorArg, ...]) -> None:
    if len({output.shape for output in outputs}) != 1:
        raise UnsupportedError("forward", "its outputs differ in shape")
    for output in outputs:
        if not output.dtype.is_floating and output.dtype is not DType.BOOL:
            raise UnsupportedError("forward", f"no design writes {output.dtype.value}")
