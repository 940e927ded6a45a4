"""A mutant: a case's kernel with one fault, and what the emulator must say of it."""

from dataclasses import dataclass

from conformance.case import KernelCase
from conformance.units import Block
from cutegen.edits import Edit, apply_edits
from cutegen.status import Status


@dataclass(frozen=True)
class Mutant:
    """``edits`` apply to the block of ``case``; ``fault`` says in words what they break."""

    name: str
    case: KernelCase
    fault: str
    expected: Status
    edits: tuple[Edit, ...]

    @property
    def block(self) -> Block:
        """The faulty kernel, in a namespace of its own.

        Raises:
            EditRefusedError: The kernel has changed, and an anchor is no longer there.
        """
        old = self.case.block
        text = apply_edits(old.text, self.edits)
        for form in ("namespace {} {{", "}}  // namespace {}"):
            text = text.replace(form.format(old.name), form.format(self.name))
        return Block(old.unit, self.name, text)


def mutant(
    name: str, case: KernelCase, fault: str, expected: Status, *edits: tuple[str, str]
) -> Mutant:
    """A mutant whose edits are pairs of text: what stands there, and what shall."""
    changes = tuple(Edit(search=search, replace=replace) for search, replace in edits)
    return Mutant(name, case, fault, expected, changes)
