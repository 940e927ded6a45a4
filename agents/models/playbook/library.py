"""The playbook for one spec: a family of designs, and which move comes next."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from cutegen.agents.models.playbook.chain import base_name
from cutegen.agents.models.playbook.design import Design, Move
from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
from cutegen.agents.models.playbook.matmul import MatmulDesign, MatmulPlan
from cutegen.agents.models.playbook.product import PRODUCTS
from cutegen.agents.models.playbook.writing import out_of_ideas, patch, whole_kernel
from cutegen.history import Step
from cutegen.measurement.profile import Bottleneck, Profile
from cutegen.spec import KernelSpec

DesignT = TypeVar("DesignT", bound=Design)

_NOT_OURS = "this source is not the playbook's own, and the playbook changes no other"


class Family(Protocol[DesignT]):
    """A family of designs, fitted to a spec."""

    @property
    def first(self) -> DesignT:
        """The plain design."""

    def render(self, design: DesignT) -> str:
        """Write a design of the family."""


class Playbook(Generic[DesignT]):
    """Answers for one spec, from one family of designs."""

    def __init__(self, family: Family[DesignT]) -> None:
        """Play from ``family``."""
        self._family = family

    def first_kernel(self, failed: Sequence[Step]) -> str:
        """The plain design, or after its failure the one that differs most from it."""
        design = self._family.first
        moves = design.structural_moves()
        if failed and moves:
            move = moves[(len(failed) - 1) % len(moves)]
            return whole_kernel(move.intent, self.render(design.after(move)))
        return whole_kernel("the plain design: one output per thread", self.render(design))

    def next_structure(self, source: str, history: Sequence[Step]) -> str:
        """The first structural move from ``source`` that was not tried."""
        design = self.design_of(source)
        if design is None:
            return out_of_ideas(_NOT_OURS)
        return self._move(design, source, design.structural_moves(), history)

    def next_parameters(self, source: str, profile: Profile, history: Sequence[Step]) -> str:
        """The first change of numbers from ``source`` that was not tried."""
        design = self.design_of(source)
        if design is None:
            return out_of_ideas(_NOT_OURS)
        if profile.bottleneck is Bottleneck.AT_THE_LIMIT:
            return out_of_ideas(f"the kernel is at the limit: {profile.evidence}")
        return self._move(design, source, design.tuning_moves(), history)

    def intended(self, source: str) -> str | None:
        """What the playbook would write for the design a source names; None for a stranger's."""
        design = self.design_of(source)
        return None if design is None else self.render(design)

    def smaller(self, source: str) -> tuple[Move, str] | None:
        """The design of a source with less demand on a block, when there is a smaller one."""
        design = self.design_of(source)
        move = None if design is None else design.smaller()
        if design is None or move is None:
            return None
        return move, self.render(design.after(move))

    def design_of(self, source: str) -> DesignT | None:
        """The design that a source's tag names."""
        return type(self._family.first).of(source)

    def render(self, design: DesignT) -> str:
        """The source of a design for this spec."""
        return self._family.render(design)

    def _move(
        self, design: DesignT, source: str, moves: Sequence[Move], history: Sequence[Step]
    ) -> str:
        tried = {step.intent for step in history}
        for move in moves:
            if move.intent not in tried:
                new = self.render(design.after(move))
                return patch(move.intent, move.expected, source, new)
        return out_of_ideas("every move of the playbook for this design has been tried")


def playbook_for(spec: KernelSpec) -> Playbook[ElementwiseDesign] | Playbook[MatmulDesign]:
    """Choose the family by what the trace computes.

    Raises:
        UnsupportedError: No family writes this function.
    """
    if any(base_name(op) in PRODUCTS for op in spec.trace):
        return Playbook(MatmulPlan(spec))
    return Playbook(ElementwisePlan(spec))
