"""A design as a state: which decisions are taken, with which numbers; and moves between states.

Every source the playbook writes carries its state in a tag line, so that the next move can be
derived from the source alone, whichever earlier moves were accepted.
"""

import json
import re
from functools import cache
from typing import ClassVar, NamedTuple, Self

from jinja2 import Environment, PackageLoader, StrictUndefined

from cutegen.agents.models.playbook.effects import Effect
from cutegen.frozen import Frozen

_TAG = re.compile(r"^// playbook: (?P<family>\w+) (?P<state>\{.*\})$", re.MULTILINE)

_BLANK_LINES = re.compile(r"\n{3,}")


class Move(NamedTuple):
    """One change of a design: what it is, what it should bring, and the fields it sets.

    ``effect`` is for changes of numbers: the profile decides which kind comes first. An
    ``alternative`` is another way rather than a step further: the full design is without it.
    """

    intent: str
    expected: str
    changes: dict[str, bool | int]
    effect: Effect = Effect.OTHER
    alternative: bool = False


class Design(Frozen):
    """The common part of all designs; a family adds its decisions as fields."""

    family: ClassVar[str]
    template: ClassVar[str]
    plain: ClassVar[str] = "one output per thread"  # what the first design is

    def tag(self) -> str:
        """The tag line's text."""
        return f"playbook: {self.family} {json.dumps(self.model_dump(), sort_keys=True)}"

    def template_name(self) -> str:
        """The file that writes this design."""
        return self.template

    def after(self, move: Move) -> Self:
        """The design with a move made."""
        return self.model_copy(update=move.changes)

    def structural_moves(self) -> tuple[Move, ...]:
        """What can still be changed about the structure, the next step first."""
        raise NotImplementedError

    def tuning_moves(self) -> tuple[Move, ...]:
        """Numbers worth trying once the structure has settled."""
        raise NotImplementedError

    def first_moves(self) -> tuple[Move, ...]:
        """From the plain design to others that may serve as a first kernel where it fails."""
        raise NotImplementedError

    def smaller(self) -> tuple[Move, ...]:
        """Moves to designs of the same structure that ask less of a block, the nearest first."""
        raise NotImplementedError

    @classmethod
    def of(cls, source: str) -> Self | None:
        """Read the state from a source's tag; None for a source of another family or author."""
        found = _TAG.search(source)
        if found is None or found["family"] != cls.family:
            return None
        return cls.model_validate_json(found["state"])

    def render(self, **names: object) -> str:
        """The source of this design."""
        text = _environment().get_template(self.template_name()).render(design=self, **names)
        return _indented(_BLANK_LINES.sub("\n\n", text))


def _indented(text: str) -> str:
    """Indent by braces: the templates are indented for their reader, not for the kernel's."""
    lines: list[str] = []
    depth = parentheses = 0
    for line in text.splitlines():
        bare = line.strip()
        code = bare.split("//")[0]
        level = depth - (len(bare) - len(bare.lstrip("}")))
        shift = 2 * level + (4 if parentheses else 0)
        lines.append(bare if bare.startswith("#") or not bare else " " * shift + bare)
        depth += code.count("{") - code.count("}")
        parentheses += code.count("(") - code.count(")")
    return "\n".join(lines) + "\n"


@cache
def _environment() -> Environment:
    return Environment(  # noqa: S701 - the output is CUDA C++, not a web page
        loader=PackageLoader("cutegen.agents.models.playbook", "designs"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
