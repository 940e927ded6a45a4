"""SVG by elements: every attribute and text escaped, colours from variables with a fallback.

A plot takes its colours from CSS variables (``--cg-…``), so that the page around it decides
between light and dark; each has a fallback that reads well on white, for a page that sets none.
No ``style`` attribute and no script is ever written: a strict content policy stays possible.
"""

from collections.abc import Sequence

from markupsafe import Markup, escape

INK = "var(--cg-ink, #1c2430)"
MUTED = "var(--cg-muted, #5c6675)"
GRID = "var(--cg-grid, #e3e7ee)"
PAPER = "var(--cg-paper, #ffffff)"
GOOD = "var(--cg-good, #15803d)"
BAD = "var(--cg-bad, #c22f2f)"
ACCENT = "var(--cg-accent, #3257d6)"
OPEN = "var(--cg-open, #f3e8ff)"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"

_AGENTS = {
    "synthesizer": "var(--cg-synthesizer, #2563c9)",
    "structural_optimizer": "var(--cg-structural, #8b3fc7)",
    "profile_tuner": "var(--cg-tuner, #0b8276)",
    "repairer": "var(--cg-repairer, #c2500c)",
    "diagnostician": "var(--cg-diagnostician, #92700c)",
}
AGENTS = tuple(_AGENTS)

Attribute = str | float

# Text that crosses lines stays readable.
HALO: dict[str, Attribute] = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 4}


def agent_colour(agent: str) -> str:
    """The colour that an agent has in every plot."""
    return _AGENTS.get(agent, MUTED)


def element(name: str, *content: Markup, **attributes: Attribute) -> Markup:
    """One element. ``stroke_width`` becomes ``stroke-width``, ``class_`` becomes ``class``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{written}>{Markup().join(content)}</{name}>")  # noqa: S704 - escaped above


def text(content: str, x: float, y: float, **attributes: Attribute) -> Markup:
    """A line of text; its anchor is the start unless ``text_anchor`` says otherwise."""
    chosen: dict[str, Attribute] = {"fill": MUTED, "font_size": 12, **attributes}
    return element("text", escape(content), x=x, y=y, **chosen)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> Markup:
    """A straight line."""
    chosen: dict[str, Attribute] = {"stroke": GRID, "stroke_width": 1, **attributes}
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **chosen)


def path(points: list[tuple[float, float]], **attributes: Attribute) -> Markup:
    """A polyline without a filling."""
    drawn = "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
    chosen: dict[str, Attribute] = {
        "fill": "none",
        "stroke": INK,
        "stroke_width": 1.5,
        **attributes,
    }
    return element("path", d=drawn, **chosen)


def apart(heights: Sequence[float], spacing: float = 15) -> list[float]:
    """The heights of labels again, moved down where two would lie closer than ``spacing``."""
    placed = list(heights)
    last = float("-inf")
    for index in sorted(range(len(heights)), key=lambda i: heights[i]):
        last = placed[index] = max(heights[index], last + spacing)
    return placed


def canvas(width: float, height: float, title: str, description: str, *content: Markup) -> Markup:
    """A whole drawing, as wide as its surroundings allow; read aloud by title and description."""
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width="100%",
        role="group",
        class_="cg-plot",
        font_family=_FONT,
        aria_label=f"{title}. {description}",
    )


def _value(value: Attribute) -> str:
    return _number(value) if isinstance(value, int | float) else str(escape(value))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
