"""Anchored edits: search text that occurs exactly once, and its replacement.

Line numbers are no anchors: models miscount them. Edits are applied all or nothing, each against
the original text, so that their order does not matter.
"""

import difflib
from collections.abc import Iterator, Sequence

from cutegen.frozen import Frozen

_QUOTE_LIMIT = 400


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
    while True:
        grown = [_grow(region, before, old) for region in regions]
        merged = _merge(grown)
        if merged == regions:
            break
        regions = merged
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


def _grow(region: _Region, before: Sequence[str], old: str) -> _Region:
    """Take in unchanged lines around a region until its old text is unique."""
    i1, i2, j1, j2 = region
    upwards = True
    while (i1, i2) != (0, len(before)) and not _is_anchor(old, "".join(before[i1:i2])):
        if (upwards and i1 > 0) or i2 == len(before):
            i1, j1 = i1 - 1, j1 - 1
        else:
            i2, j2 = i2 + 1, j2 + 1
        upwards = not upwards
    return i1, i2, j1, j2


def _merge(regions: Sequence[_Region]) -> list[_Region]:
    """Join regions that growing made touch or overlap."""
    merged: list[_Region] = []
    for region in regions:
        if merged and region[0] < merged[-1][1]:
            i1, i2, j1, j2 = merged[-1]
            merged[-1] = (i1, max(i2, region[1]), j1, max(j2, region[3]))
        else:
            merged.append(region)
    return merged


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _occurrences(text: str, anchor: str) -> int:
    """Occurrences, overlapping ones too: each is a place the edit might have meant."""
    count, position = 0, text.find(anchor)
    while position != -1 and count < 10:  # noqa: PLR2004 - enough to say "many"
        count += 1
        position = text.find(anchor, position + 1)
    return count


def _is_anchor(text: str, anchor: str) -> bool:
    return bool(anchor.strip()) and _occurrences(text, anchor) == 1


def _locate(text: str, anchor: str, number: int) -> tuple[int, int]:
    if not anchor.strip():
        raise EditRefusedError(f"edit {number} has an empty search text")
    count = _occurrences(text, anchor)
    if count == 1:
        start = text.index(anchor)
        return start, start + len(anchor)
    if count == 0:
        raise EditRefusedError(
            f"the search text of edit {number} does not occur in the source; "
            f"the nearest lines are:\n{_nearest(text, anchor)}"
        )
    raise EditRefusedError(
        f"the search text of edit {number} occurs {count} times; add lines until it is unique:\n"
        f"{anchor[:_QUOTE_LIMIT]}"
    )


def _nearest(text: str, anchor: str) -> str:
    """The window of the source that looks most like the anchor."""
    lines, wanted = text.splitlines(), anchor.splitlines()
    windows = ["\n".join(lines[i : i + len(wanted)]) for i in range(len(lines))]
    matcher = difflib.SequenceMatcher(None, b=anchor, autojunk=False)

    def likeness(window: str) -> float:
        matcher.set_seq1(window)
        return matcher.quick_ratio()

    return max(windows, key=likeness, default="")[:_QUOTE_LIMIT]


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
