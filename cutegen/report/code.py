"""CUDA source as HTML: coloured by Pygments, cut into lines, with the changed words marked."""

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup, escape
from pygments.lexers.c_like import CudaLexer
from pygments.token import Comment, Keyword, Literal, Name, _TokenType

Range = tuple[int, int]  # characters of a line: from, to (exclusive)
Token = tuple[str, str]  # class of the stylesheet, text

# In the order in which they are looked up: a subtype comes before its parent.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "tp"),
    (Comment.PreprocFile, "ts"),
    (Comment, "tc"),
    (Keyword.Type, "ty"),
    (Keyword, "tk"),
    (Literal.String, "ts"),
    (Literal, "tn"),
    (Name.Function, "tf"),
    (Name.Builtin, "ty"),
)


def plain_lines(source: str) -> list[str]:
    """The lines of a source, cut where the lexer cuts them, without their ends."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


@lru_cache(maxsize=256)
def lines_of(source: str) -> tuple[tuple[Token, ...], ...]:
    """The tokens of each line."""
    lexer = CudaLexer(stripnl=False, ensurenl=False)
    lines: list[list[Token]] = [[]]
    for kind, text in lexer.get_tokens(source):
        for position, part in enumerate(text.split("\n")):
            if position:
                lines.append([])
            if part:
                lines[-1].append((_class_of(kind), part))
    return tuple(map(tuple, lines[: len(plain_lines(source))]))


def line_html(tokens: Sequence[Token], marked: Sequence[Range] = ()) -> Markup:
    """One line, with some of its characters marked as changed."""
    written: list[Markup] = []
    at = 0
    for kind, text in tokens:
        for piece, changed in _pieces(text, at, marked):
            told = escape(piece)
            if changed:
                told = Markup("<mark>{}</mark>").format(told)
            written.append(
                Markup('<span class="{}">{}</span>').format(kind, told) if kind else told
            )
        at += len(text)
    return Markup().join(written)


def source_html(source: str, anchor: str) -> Markup:
    """A whole source, each line numbered and with an anchor such as ``best-12``."""
    rows = Markup().join(
        Markup(
            '<div class="line" id="{0}-{1}"><a class="ln" href="#{0}-{1}" tabindex="-1">{1}</a>'
            "<code>{2}</code></div>"
        ).format(anchor, number, line_html(tokens))
        for number, tokens in enumerate(lines_of(source), 1)
    )
    return Markup('<div class="source">{}</div>').format(rows)


def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")


def _pieces(text: str, start: int, marked: Sequence[Range]) -> list[tuple[str, bool]]:
    """A token cut at the borders of the marked ranges."""
    end = start + len(text)
    inside = [(max(a, start), min(b, end)) for a, b in marked if a < end and b > start]
    cuts: list[tuple[str, bool]] = []
    at = start
    for a, b in inside:
        cuts.append((text[at - start : a - start], False))
        cuts.append((text[a - start : b - start], True))
        at = b
    cuts.append((text[at - start :], False))
    return [(piece, changed) for piece, changed in cuts if piece]
