"""How fast, and how surely: every sample of the kernel and of PyTorch on one axis."""

from collections.abc import Mapping

from markupsafe import Markup

from cutegen.measurement.timing import Timing
from cutegen.report import svg
from cutegen.report.axes import Scale, microseconds
from cutegen.report.trajectory import WIDE

KERNEL = "this kernel"
_ROW, _TOP, _BOTTOM, _RIGHT = 52, 22, 30, 16


def samples_svg(
    timings: Mapping[str, Timing], *, floor_us: float | None = None, width: int = WIDE
) -> Markup:
    """A row for each contender, from zero: a bar to the median, a tick for every sample.

    Args:
        timings: By name; the one called ``this kernel`` stands out.
        floor_us: What the roofline allows at best, in microseconds.
        width: In pixels.
    """
    longest = max(max(timing.samples_us) for timing in timings.values())
    left = 4
    scale = Scale(0, longest * 1.02, left, width - _RIGHT)
    bottom = _TOP + _ROW * len(timings)
    parts = []
    for tick in scale.ticks(4 if width < WIDE else 8):
        parts.append(svg.line(scale(tick), _TOP, scale(tick), bottom))
        anchor = "start" if tick == 0 else "middle"
        label = "0" if tick == 0 else microseconds(tick)
        parts.append(svg.text(label, scale(tick), bottom + 18, text_anchor=anchor))
    if floor_us is not None and floor_us < longest:
        x = scale(floor_us)
        parts.append(svg.line(x, _TOP - 6, x, bottom, stroke=svg.INK, stroke_dasharray="5 4"))
        end = x > width / 2
        parts.append(
            svg.text(
                f"roofline {microseconds(floor_us)}",
                x + (4 if end else 0),
                _TOP - 10,
                font_size=11,
                text_anchor="end" if end else "start",
            )
        )
    for row, (name, timing) in enumerate(timings.items()):
        parts.append(_row(scale, name, timing, _TOP + _ROW * row))
    told = "; ".join(f"{n} {microseconds(t.median_us)}" for n, t in timings.items())
    return svg.canvas(width, bottom + _BOTTOM, "Times of a call", f"Medians: {told}", *parts)


def _row(scale: Scale, name: str, timing: Timing, top: float) -> Markup:
    own = name == KERNEL
    colour = svg.ACCENT if own else svg.MUTED
    middle = top + 36
    spread = f"p20-p80 {microseconds(timing.p20_us)} to {microseconds(timing.p80_us)}"
    label = svg.element(
        "text",
        svg.element("tspan", Markup.escape(name), fill=svg.INK, font_weight=600),
        svg.element("tspan", Markup.escape(microseconds(timing.median_us)), dx=9, fill=svg.INK),
        svg.element("tspan", Markup.escape(spread), dx=9, fill=svg.MUTED, font_size=11),
        x=scale.start,
        y=top + 20,
        font_size=13,
        **svg.HALO,
    )
    bar = svg.element(
        "rect",
        x=scale.start,
        y=middle - 7,
        width=max(1.0, scale(timing.median_us) - scale.start),
        height=14,
        rx=2,
        fill=colour,
        fill_opacity=0.85 if own else 0.32,
    )
    drawn = "".join(f"M{scale(s):.2f},{middle - 9}v18" for s in sorted(timing.samples_us))
    ticks = svg.element("path", d=drawn, stroke=svg.INK, stroke_width=1, stroke_opacity=0.28)
    return bar + ticks + label
