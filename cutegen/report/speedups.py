"""Many runs on one axis: how much faster than PyTorch eager each of them came out."""

from collections.abc import Mapping

from markupsafe import Markup

from cutegen.report import svg
from cutegen.report.axes import Scale, around, times
from cutegen.report.trajectory import WIDE

_ROW, _TOP, _BOTTOM = 24, 30, 26
_NARROW_BELOW = 600


def speedups_svg(speedups: Mapping[str, float], *, width: int = WIDE) -> Markup:
    """A row per run, fastest first, on a logarithmic axis through 1 (as fast as PyTorch eager).

    Args:
        speedups: Over PyTorch eager, by a name that is unique.
        width: In pixels; below 600 the drawing is laid out for a phone.
    """
    narrow = width < _NARROW_BELOW
    left = 12 if narrow else 250
    low, high = around([1.0, *speedups.values()], 1.3)
    scale = Scale(low, high, left, width - 70, logarithmic=True)
    row = _ROW + (16 if narrow else 0)
    bottom = _TOP + row * len(speedups)
    parts = []
    for tick in scale.ticks():
        parts.append(svg.line(scale(tick), _TOP - 6, scale(tick), bottom))
        parts.append(svg.text(times(tick), scale(tick), bottom + 18, text_anchor="middle"))
    one = scale(1.0)
    parts.append(svg.line(one, _TOP - 10, one, bottom, stroke=svg.INK, stroke_width=1.5))
    parts.append(svg.text("PyTorch eager", one, _TOP - 15, text_anchor="middle", font_size=11))
    ordered = sorted(speedups.items(), key=lambda item: -item[1])
    for position, (name, speedup) in enumerate(ordered):
        y = _TOP + row * position + row - 10
        colour = svg.GOOD if speedup > 1 else svg.BAD
        x = scale(speedup)
        parts.append(svg.line(one, y, x, y, stroke=colour, stroke_width=3, stroke_opacity=0.4))
        parts.append(svg.element("circle", cx=x, cy=y, r=5, fill=colour))
        if narrow:
            parts.append(svg.text(_short(name, 44), left, y - 11, font_size=11, **svg.HALO))
        else:
            parts.append(svg.text(_short(name, 34), left - 14, y + 4, text_anchor="end"))
        parts.append(
            svg.text(times(speedup), max(x, one) + 11, y + 4, fill=svg.INK, font_weight=600)
        )
    told = "; ".join(f"{name} {times(speedup)}" for name, speedup in ordered)
    return svg.canvas(width, bottom + _BOTTOM, "Speed-ups over PyTorch eager", told, *parts)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
