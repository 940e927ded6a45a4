"""Replies in the text format that every chat model uses."""

from collections.abc import Mapping, Sequence

from cutegen.edits import derive_edits


def whole_kernel(intent: str, source: str) -> str:
    """A complete source."""
    return f"INTENT: {intent}\n\n```cuda\n{source}```\n"


def patch(intent: str, expected: str, old: str, new: str) -> str:
    """The edits that turn one source into another."""
    return "\n".join([_head(intent, expected), _blocks(old, new), ""])


def variants(intent: str, expected: str, old: str, new: Mapping[str, str]) -> str:
    """Several changed sources by what each of them is, all edits of the one that was shown."""
    parts = [f"VARIANT: {label}\n{_blocks(old, source)}\n" for label, source in new.items()]
    return "\n".join([_head(intent, expected), *parts])


def diagnosis(causes: Sequence[tuple[str, int, str]]) -> str:
    """Ranked causes: what, at which line, and the smallest change that mends it."""
    parts = [
        f"CAUSE: {cause}\n" + (f"LINE: {line}\n" if line else "") + f"CHANGE: {change}\n"
        for cause, line, change in causes
    ]
    return "\n".join(parts)


def out_of_ideas(reason: str) -> str:
    """Nothing to propose."""
    return f"OUT_OF_IDEAS: {reason}\n"


def at_fault(evidence: str) -> str:
    """The structure is handed back."""
    return f"STRUCTURE: {evidence}\n"


def unsupported(operation: str, reason: str) -> str:
    """No design for an operation."""
    return f"UNSUPPORTED: {operation}: {reason}\n"


def _head(intent: str, expected: str) -> str:
    return f"INTENT: {intent}\n" + (f"EXPECTED: {expected}\n" if expected else "")


def _blocks(old: str, new: str) -> str:
    return "\n".join(
        f"<<<<<<< SEARCH\n{_line(edit.search)}=======\n{_line(edit.replace)}>>>>>>> REPLACE"
        for edit in derive_edits(old, new)
    )


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
