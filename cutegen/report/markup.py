"""Fragments of HTML that sit in a notebook of any theme: escaped, self-contained, few colours.

No background is set and all text is the notebook's own colour but for the five below, which
keep a contrast of 3 : 1 on white and on dark grey. What a colour says, a word says too.
"""

from collections.abc import Iterable, Sequence

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

GOOD = "#1f8a4c"
BAD = "#d0433a"
DOUBTFUL = "#a66a00"
NAMES = "#1a82a6"
EDGE = "#a855c7"
COLOURS = {"green": GOOD, "red": BAD, "yellow": DOUBTFUL, "cyan": NAMES, "magenta": EDGE}

_RULE = "1px solid rgba(128,128,128,.35)"
_MONOSPACED = (
    "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em;line-height:1.45;margin:0"
)
_PLAIN = Console(color_system=None)


def joined(parts: Iterable[str]) -> Markup:
    """Fragments one after the other; text that is no markup is escaped."""
    return Markup().join(parts)


def coloured(text: str, colour: str) -> Markup:
    """Bold text in one of the colours."""
    return Markup('<b style="color:{}">{}</b>').format(colour, text)


def dim(text: str) -> Markup:
    """Text that steps back."""
    return Markup('<span style="opacity:.7">{}</span>').format(text)


def paragraph(*parts: str) -> Markup:
    """A line of its own."""
    return Markup('<div style="margin:.25em 0">{}</div>').format(joined(parts))


def preformatted(text: str) -> Markup:
    """Code or a log, as wide as it is; it scrolls instead of wrapping."""
    style = f"{_MONOSPACED};overflow:auto;max-height:32em;white-space:pre"
    return Markup('<pre style="{}">{}</pre>').format(style, text)


def folded(title: str, body: str) -> Markup:
    """Something that opens when its title is clicked; no script is needed for that."""
    return Markup(
        '<details style="margin:.25em 0"><summary style="cursor:pointer">{}</summary>{}</details>'
    ).format(title, body)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table; cells that are markup stay it. Without headings the first column names the rows."""
    head = joined(_cell("th", heading) for heading in headings)
    body = joined(
        Markup("<tr>{}</tr>").format(joined(_cell("td", cell) for cell in row)) for row in rows
    )
    top = Markup("<thead><tr>{}</tr></thead>").format(head) if headings else ""
    return Markup(
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:.25em 0">'
        "{}<tbody>{}</tbody></table></div>"
    ).format(top, body)


def _cell(tag: str, content: str) -> Markup:
    style = (
        f"text-align:left;vertical-align:top;padding:.2em .8em .2em 0;border-bottom:{_RULE};"
        "background:none"
    )
    return Markup('<{tag} style="{style}">{content}</{tag}>').format(
        tag=tag, style=style, content=content
    )


def section(*parts: str) -> Markup:
    """The whole display of one noun."""
    return Markup('<div class="cutegen" style="max-width:75em">{}</div>').format(joined(parts))


def lines_of(texts: Iterable[Text]) -> Markup:
    """Rich's lines, as the terminal shows them, in the colours above."""
    style = f"{_MONOSPACED};white-space:pre-wrap;overflow-wrap:anywhere"
    return Markup('<div style="{}">{}</div>').format(
        style, Markup("\n").join(joined(_spans(text)) for text in texts)
    )


def _spans(text: Text) -> Iterable[Markup]:
    for segment in text.render(_PLAIN):
        style = segment.style
        if not style:
            yield Markup("{}").format(segment.text)
            continue
        rules = (
            "font-weight:bold" if style.bold else "",
            "opacity:.7" if style.dim else "",
            f"color:{COLOURS[style.color.name]}" if style.color else "",
        )
        yield Markup('<span style="{}">{}</span>').format(
            ";".join(filter(None, rules)), segment.text
        )
