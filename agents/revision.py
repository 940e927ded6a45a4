"""A revision: a patch, and the source it makes of the one the agent was shown."""

from cutegen.agents.reply import OutOfIdeas, parse_patch
from cutegen.edits import Edit, apply_edits, edit_size
from cutegen.frozen import Frozen


class Revision(Frozen):
    """A changed source, what the change is for, and what it should bring."""

    intent: str
    expected: str
    source: str
    edits: tuple[Edit, ...]
    changed_lines: int


def parse_revision(text: str, source: str) -> Revision | OutOfIdeas:
    """Read a reply's edits and apply them.

    Raises:
        ReplyError: The reply does not parse.
        EditRefusedError: Its edits do not apply to ``source``.
    """
    patch = parse_patch(text)
    if isinstance(patch, OutOfIdeas):
        return patch
    if not source.endswith("\n"):  # anchors are whole lines, so the last one must be one
        source += "\n"
    return Revision(
        intent=patch.intent,
        expected=patch.expected,
        source=apply_edits(source, patch.edits),
        edits=patch.edits,
        changed_lines=edit_size(patch.edits),
    )
