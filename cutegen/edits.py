"""Anchored edits: search text that occurs exactly once, and its replacement.

Line numbers are no anchors: models miscount them. Edits are applied all or nothing, each against
the original text, so that their order does not matter.
"""

import difflib
from collections.abc import Iterator, Sequence

from cutegen.frozen import Frozen

_QUOTE_LIMIT = 400
_MANY = 10  # occurrences of an anchor that are still listed


class Edit(Frozen):
    """Replace ``search``, which must occur exactly once in the source, by ``replace``."""

    search: str
    replace: str


class EditRefusedError(ValueError):
    """An edit could not be applied; nothing was changed. The message quotes the fault."""


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """Apply every edit, or none.

    Windows line ends are treated as plain ones, in the source and in the edits.

    Raises:
        EditRefusedError: There is no edit, an anchor is empty, absent or ambiguous, two edits
            overlap, or nothing would change.
    """
    if not edits:
        raise EditRefusedError("there is no edit")
    text = _plain(source)
    spans = sorted(
        (_locate(text, _plain(edit.search), number), _plain(edit.replace))
        for number, edit in enumerate(edits, start=1)
    )
    pieces: list[str] = []
    position = 0
    for (start, end), replacement in spans:
        if start < position:
            raise EditRefusedError(
                f"two edits overlap at line {_line_of(text, start)}: join them into one"
            )
        pieces += [text[position:start], replacement]
        position = end
    changed = "".join([*pieces, text[position:]])
    if changed == text:
        raise EditRefusedError("the edits change nothing")
    return changed


def derive_edits(old: str, new: str) -> tuple[Edit, ...]:
    """Edits that turn ``old`` into ``new``, each anchored by as few lines as make it unique.

    Raises:
        EditRefusedError: The texts are equal, or ``old`` is blank and so has no anchor.
    """
    old, new = _plain(old), _plain(new)
    if old == new:
        raise EditRefusedError("the edits change nothing")
    if not old.strip():
        raise EditRefusedError("an empty source has no text to anchor an edit on")
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    regions = list(_changed_regions(before, after))
    index, upwards = 0, True
    while index < len(regions):
        i1, i2, _, _ = regions[index]
        if (i1, i2) == (0, len(before)) or _is_anchor(old, "".join(before[i1:i2])):
            index, upwards = index + 1, True
        else:
            index = _widen(regions, index, len(before), upwards=upwards)
            upwards = not upwards
    return tuple(
        Edit(search="".join(before[i1:i2]), replace="".join(after[j1:j2]))
        for i1, i2, j1, j2 in regions
    )


def edit_size(edits: Sequence[Edit]) -> int:
    """Number of lines that the edits remove plus those they add; anchors do not count."""
    size = 0
    for edit in edits:
        before, after = edit.search.splitlines(), edit.replace.splitlines()
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag != "equal":
                size += (i2 - i1) + (j2 - j1)
    return size


_Region = tuple[int, int, int, int]
"""Lines ``[i1, i2)`` of the old text become lines ``[j1, j2)`` of the new one."""


def _changed_regions(before: Sequence[str], after: Sequence[str]) -> Iterator[_Region]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2


def _widen(regions: list[_Region], index: int, height: int, *, upwards: bool) -> int:
    """Take one unchanged line into a region, or the next region where they touch.

    Args:
        regions: Disjoint and in order; changed in place.
        index: Which of them to widen.
        height: Number of lines of the old text.
        upwards: The direction that is tried first.

    Returns:
        The index of the widened region.
    """
    i1, i2, j1, j2 = regions[index]
    if (upwards and i1 > 0) or i2 == height:
        if index == 0 or regions[index - 1][1] < i1:
            regions[index] = (i1 - 1, i2, j1 - 1, j2)
            return index
        index -= 1
    elif index + 1 == len(regions) or regions[index + 1][0] > i2:
        regions[index] = (i1, i2 + 1, j1, j2 + 1)
        return index
    upper, lower = regions[index], regions.pop(index + 1)
    regions[index] = (upper[0], lower[1], upper[2], lower[3])
    return index


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _occurrences(text: str, anchor: str) -> list[int]:
    """Where an anchor occurs, overlapping too: each is a place the edit might have meant."""
    starts: list[int] = []
    position = text.find(anchor)
    while position != -1 and len(starts) < _MANY:
        starts.append(position)
        position = text.find(anchor, position + 1)
    return starts


def _is_anchor(text: str, anchor: str) -> bool:
    return bool(anchor.strip()) and len(_occurrences(text, anchor)) == 1


def _locate(text: str, anchor: str, number: int) -> tuple[int, int]:
    if not anchor.strip():
        raise EditRefusedError(f"edit {number} has an empty search text")
    starts = _occurrences(text, anchor)
    if len(starts) == 1:
        return starts[0], starts[0] + len(anchor)
    if not starts:
        raise EditRefusedError(
            f"the search text of edit {number} does not occur in the source; "
            f"the nearest lines are{_nearest(text, anchor)}"
        )
    lines = ", ".join(str(_line_of(text, start)) for start in starts)
    raise EditRefusedError(
        f"the search text of edit {number} occurs {len(starts)} times, at lines {lines}; "
        f"add lines until it is unique:\n{anchor[:_QUOTE_LIMIT]}"
    )


def _nearest(text: str, anchor: str) -> str:
    """The window of the source that looks most like the anchor, and its first line's number."""
    lines, height = text.split("\n"), anchor.rstrip("\n").count("\n") + 1
    windows = ["\n".join(lines[i : i + height]) for i in range(max(1, len(lines) - height + 1))]
    matcher = difflib.SequenceMatcher(None, b=anchor, autojunk=False)

    def likeness(index: int) -> float:
        matcher.set_seq1(windows[index])
        return matcher.quick_ratio()

    nearest = max(range(len(windows)), key=likeness)
    return f" (from line {nearest + 1}):\n{windows[nearest][:_QUOTE_LIMIT]}"


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
