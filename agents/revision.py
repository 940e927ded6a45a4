"""A revision: a patch, and the source it makes of the one the agent was shown."""

from cutegen.agents.reply import (
    OutOfIdeas,
    Patch,
    ReplyError,
    Unsupported,
    parse_kernel,
    parse_patch,
    parse_refusal,
)
from cutegen.edits import Edit, apply_edits, derive_edits, edit_size
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
    return patch if isinstance(patch, OutOfIdeas) else revise(patch, source)


def revise(patch: Patch, source: str) -> Revision:
    """The source that a patch makes.

    Raises:
        EditRefusedError: Its edits do not apply to ``source``.
    """
    if not source.endswith("\n"):  # anchors are whole lines, so the last one must be one
        source += "\n"
    return Revision(
        intent=patch.intent,
        expected=patch.expected,
        source=apply_edits(source, patch.edits),
        edits=patch.edits,
        changed_lines=edit_size(patch.edits),
    )


def parse_rewrite(text: str, source: str) -> Revision | OutOfIdeas:
    """Read a reply that holds the whole changed file.

    Raises:
        ReplyError: It holds none.
        EditRefusedError: The file is the same as before.
    """
    try:
        kernel = parse_kernel(text)
    except ReplyError:
        if (refusal := parse_refusal(text)) is not None:
            return refusal
        raise
    if isinstance(kernel, Unsupported):
        return OutOfIdeas(reason=f"{kernel.operation}: {kernel.reason}")
    edits = derive_edits(source, kernel.source)
    return Revision(
        intent=kernel.intent,
        expected="",
        source=kernel.source,
        edits=edits,
        changed_lines=edit_size(edits),
    )
