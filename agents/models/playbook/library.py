"""The playbook for one spec: a family of designs, and which move comes next."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
from cutegen.agents.models.playbook.matmul import MatmulDesign
from cutegen.agents.models.playbook.matmul_plan import MatmulPlan
from cutegen.agents.models.playbook.product import PRODUCTS
from cutegen.agents.models.playbook.reductions import REDUCTIONS, is_matrix_vector
from cutegen.agents.models.playbook.rows import RowDesign, RowPlan
from cutegen.agents.models.playbook.writing import out_of_ideas, patch, unsupported, whole_kernel
from cutegen.history import Step
from cutegen.kernel import candidate_id
from cutegen.spec import KernelSpec
from cutegen.toolchain.nvcc import DEFAULT_ARCH

DesignT = TypeVar("DesignT", bound=Design)

NOT_OURS = "this source is not the playbook's own, and the playbook changes no other"


class Family(Protocol[DesignT]):
    """A family of designs, fitted to a spec."""

    @property
    def first(self) -> DesignT:
        """The plain design."""

    def render(self, design: DesignT) -> str:
        """Write a design of the family."""

    def fits(self, design: DesignT) -> bool:
        """Whether a block of the design fits a multiprocessor."""


class Playbook(Generic[DesignT]):
    """Answers for one spec, from one family of designs."""

    def __init__(self, spec: KernelSpec, family: Family[DesignT]) -> None:
        """Play from ``family``, which was fitted to ``spec``."""
        self._spec = spec
        self._family = family

    def first_kernel(self, failed: Sequence[Step]) -> str:
        """The plain design, or after its failure another that a run may begin with."""
        plain = self._family.first
        designs = {f"the plain design: {plain.plain}": plain}
        designs |= {move.intent: plain.after(move) for move in plain.first_moves()}
        for intent, design in designs.items():
            source = self.render(design)
            if not self.tried(intent, source, failed):
                return whole_kernel(intent, source)
        operation = self._spec.trace[0].op if self._spec.trace else "forward"
        return unsupported(operation, f"all {len(designs)} designs to begin with have failed")

    def next_structure(self, source: str, history: Sequence[Step]) -> str:
        """The first structural move from ``source`` that was not tried."""
        design = self.design_of(source)
        if design is None:
            return out_of_ideas(NOT_OURS)
        return self.move(design, source, design.structural_moves(), history)

    def intended(self, source: str) -> str | None:
        """What the playbook would write for the design a source names; None for a stranger's."""
        design = self.design_of(source)
        return None if design is None else self.render(design)

    def smaller(self, source: str, history: Sequence[Step]) -> tuple[Move, str] | None:
        """The nearest design that asks less of a block, fits one, and was not tried."""
        design = self.design_of(source)
        for move in () if design is None else design.smaller():
            assert design is not None
            new = self.render(design.after(move))
            if self._family.fits(design.after(move)) and not self._seen(new, history):
                return move, new
        return None

    def climb(self) -> Iterator[DesignT]:
        """Every design from the plain to the full one, when each move further is accepted."""
        design = self._family.first
        tried: set[str] = set()
        while True:
            yield design
            further = (m for m in design.structural_moves() if not m.alternative)
            move = next((move for move in further if move.intent not in tried), None)
            if move is None:
                return
            tried.add(move.intent)
            design = design.after(move)

    def design_of(self, source: str) -> DesignT | None:
        """The design that a source's tag names."""
        return type(self._family.first).of(source)

    def render(self, design: DesignT) -> str:
        """The source of a design for this spec."""
        return self._family.render(design)

    def move(
        self, design: DesignT, source: str, moves: Sequence[Move], history: Sequence[Step]
    ) -> str:
        """The first of some moves that was not tried, as a patch of ``source``."""
        for move in moves:
            new = self.render(design.after(move))
            if not self.tried(move.intent, new, history):
                return patch(move.intent, move.expected, source, new)
        return out_of_ideas("every move of the playbook for this design has been tried")

    def tried(self, intent: str, source: str, history: Sequence[Step]) -> bool:
        """Whether the run has seen this source, or a move of this intent on another."""
        told = {step.intent for step in history}
        told |= {text.rpartition(": ")[2] for text in told}  # of one variant among several
        return self._seen(source, history) or intent in told

    def _seen(self, source: str, history: Sequence[Step]) -> bool:
        """Whether the run has judged this very source: it would be refused as a repeat."""
        return candidate_id(source, self._spec.id) in {step.candidate for step in history}


def playbook_for(
    spec: KernelSpec, arch: str = DEFAULT_ARCH
) -> Playbook[ElementwiseDesign] | Playbook[MatmulDesign] | Playbook[RowDesign]:
    """Choose the family by what the trace computes.

    Args:
        spec: The function.
        arch: The target, which decides what instructions there are.

    Raises:
        UnsupportedError: No family writes this function.
    """
    operations = {base_name(op) for op in spec.trace}
    leaves = {tensor.name: tensor.shape for tensor in spec.timed.tensors}
    products = [op for op in spec.trace if base_name(op) in PRODUCTS]
    if products and all(is_matrix_vector(op, leaves) for op in products):
        return Playbook(spec, RowPlan(spec, arch))
    if products:
        return Playbook(spec, MatmulPlan(spec, arch))
    if not operations.isdisjoint(REDUCTIONS):
        return Playbook(spec, RowPlan(spec, arch))
    return Playbook(spec, ElementwisePlan(spec))
