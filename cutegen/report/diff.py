"""Two versions of a source side by side, or one above the other where there is little room.

The blocks are found by difflib. A block is a grid: removed lines lie in its left column, added
ones in its right; a stylesheet that gives it one column gets a unified diff of the same elements.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from markupsafe import Markup

from cutegen.report.code import Range, Token, line_html, lines_of, plain_lines

_CONTEXT = 3
_LEAST_FOLDED = 4  # unchanged lines that are worth folding away
_ALIKE = 0.45  # from this ratio on, two lines are versions of one another
_WORD = re.compile(r"\w+|\s+|.")


def diff_html(old: str, new: str, *, anchor: str = "diff") -> Markup:
    """The change from ``old`` to ``new``; unchanged stretches are folded away.

    Args:
        old: The source that the change starts from.
        new: The source that it leads to.
        anchor: Lines are called ``ANCHOR-L12`` (old) and ``ANCHOR-R12`` (new).
    """
    before, after = plain_lines(old), plain_lines(new)
    page = _Page(lines_of(old), lines_of(new), anchor)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    codes = matcher.get_opcodes()
    parts = []
    for position, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            first, last = position == 0, position == len(codes) - 1
            parts.append(_unchanged(page, (i1, i2), j1 - i1, first=first, last=last))
        else:
            parts.append(_changed(page, before, after, (i1, i2), (j1, j2)))
    return Markup('<div class="diff">{}</div>').format(Markup().join(parts))


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """How many lines were added, and how many removed."""
    codes = SequenceMatcher(None, plain_lines(old), plain_lines(new), autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    return sum(c[4] - c[3] for c in changes), sum(c[2] - c[1] for c in changes)


class _Page:
    """Writes single lines of both versions."""

    def __init__(
        self,
        before: Sequence[Sequence[Token]],
        after: Sequence[Sequence[Token]],
        anchor: str,
    ) -> None:
        self._sides = {"L": before, "R": after}
        self._anchor = anchor

    def line(self, side: str, index: int, kind: str, marked: Sequence[Range] = ()) -> Markup:
        name = f"{self._anchor}-{side}{index + 1}"
        sign = {"del": "−", "ins": "+"}.get(kind.split(maxsplit=1)[0], " ")  # noqa: RUF001 - a minus sign
        return Markup(
            '<div class="line {0}" id="{1}"><a class="ln" href="#{1}" tabindex="-1">{2}</a>'
            '<span class="sign">{3}</span><code>{4}</code></div>'
        ).format(kind, name, index + 1, sign, line_html(self._sides[side][index], marked))

    def context(self, lines: range, shift: int) -> Markup:
        both = (self.line("L", i, "ctx old") + self.line("R", i + shift, "ctx new") for i in lines)
        return Markup('<div class="block">{}</div>').format(Markup().join(both))


def _unchanged(page: _Page, where: Range, shift: int, *, first: bool, last: bool) -> Markup:
    start, end = where
    top = start if first else min(end, start + _CONTEXT)
    bottom = end if last else max(top, end - _CONTEXT)
    if bottom - top < _LEAST_FOLDED:
        return page.context(range(start, end), shift)
    folded = Markup(
        '<details class="gap"><summary>{} unchanged lines</summary>{}</details>'
    ).format(bottom - top, page.context(range(top, bottom), shift))
    parts = []
    if top > start:
        parts.append(page.context(range(start, top), shift))
    parts.append(folded)
    if end > bottom:
        parts.append(page.context(range(bottom, end), shift))
    return Markup().join(parts)


def _changed(
    page: _Page, before: Sequence[str], after: Sequence[str], old: Range, new: Range
) -> Markup:
    """A block of removed and added lines; like lines face each other, changed words marked."""
    gone, come = range(*old), range(*new)
    words = {(i, j): _changed_words(before[i], after[j]) for i, j in zip(gone, come, strict=False)}
    left = {i: marks[0] for (i, _), marks in words.items()}
    right = {j: marks[1] for (_, j), marks in words.items()}
    lines = [page.line("L", i, "del", left.get(i, ())) for i in gone]
    lines += [page.line("R", j, "ins", right.get(j, ())) for j in come]
    return Markup('<div class="block change">{}</div>').format(Markup().join(lines))


def _changed_words(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """The characters that differ in two lines; none when the lines have little in common."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    left_words, right_words = ([w for w in words if not w.isspace()] for words in (a, b))
    if SequenceMatcher(None, left_words, right_words, autojunk=False).ratio() < _ALIKE:
        return [], []
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    at_a, at_b = list(_offsets(a)), list(_offsets(b))
    left, right = [], []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if i2 > i1:
            left.append((at_a[i1], at_a[i2]))
        if j2 > j1:
            right.append((at_b[j1], at_b[j2]))
    return left, right


def _offsets(words: Sequence[str]) -> Iterator[int]:
    at = 0
    yield at
    for word in words:
        at += len(word)
        yield at
