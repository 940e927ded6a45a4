"""How far from the limit: a kernel's rate under the roof of bandwidth and arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cutegen.measurement.timing import Roofline
from cutegen.report import svg
from cutegen.report.axes import Scale, digits, microseconds, rate
from cutegen.report.trajectory import WIDE

_HEIGHT, _TOP, _BOTTOM, _LEFT = 320, 26, 44, 88
_NARROW_BELOW = 600


@dataclass(frozen=True)
class Point:
    """A kernel in the plot: its median time in microseconds, and its colour.

    ``ours`` is true for kernels of the run, false for PyTorch's.
    """

    name: str
    time_us: float
    ours: bool = True
    colour: str = svg.ACCENT


def roofline_svg(roof: Roofline, points: Sequence[Point], *, width: int = WIDE) -> Markup:
    """Draw kernels under their roof.

    Where products are counted the axes are operations per byte and operations per second, both
    logarithmic. Where none are (the work of an activation is its bytes), it is bandwidth alone.

    Args:
        roof: The least bytes and operations of a call, and the ceilings in use.
        points: In the order in which they should be read.
        width: In pixels.
    """
    if roof.flops:
        return _classic(roof, points, width)
    return _bandwidth(roof, points, width)


def _classic(roof: Roofline, points: Sequence[Point], width: int) -> Markup:
    intensity = roof.flops / roof.bytes_moved
    ridge = roof.flops_per_s / roof.copy_bytes_per_s
    slowest = min((roof.flops / p.time_us * 1e6 for p in points), default=roof.flops_per_s)
    x = Scale(min(intensity, ridge) / 6, max(intensity, ridge) * 30, _LEFT, width - 16, True)
    low = min(slowest, roof.flops_per_s / 50) / 2
    y = Scale(low, roof.flops_per_s * 2.2, _HEIGHT - _BOTTOM, _TOP, True)
    parts = _grid(x, y, "FLOP/s")
    for tick in x.ticks():
        parts.append(svg.line(x(tick), y.start, x(tick), y.end))
        parts.append(svg.text(digits(tick), x(tick), y.start + 17, text_anchor="middle"))
    parts.append(
        svg.text("operations per byte", (x.start + x.end) / 2, _HEIGHT - 8, text_anchor="middle")
    )
    start = max(x.low, y.low / roof.copy_bytes_per_s)
    slope = [
        (start, start * roof.copy_bytes_per_s),
        (ridge, roof.flops_per_s),
        (x.high, roof.flops_per_s),
    ]
    parts.append(
        svg.path(
            [(x(a), y(b)) for a, b in slope],
            stroke=svg.INK,
            stroke_width=2.2,
            stroke_linejoin="round",
        )
    )
    parts.append(
        svg.text(
            rate(roof.flops_per_s, "FLOP/s"),
            x.end,
            y(roof.flops_per_s) - 8,
            text_anchor="end",
            fill=svg.INK,
        )
    )
    parts.append(
        svg.text(
            rate(roof.copy_bytes_per_s, "B/s"),
            x(ridge) - 14,
            y(roof.flops_per_s) - 8,
            text_anchor="end",
            fill=svg.INK,
        )
    )
    parts.append(
        svg.line(
            x(intensity), y.start, x(intensity), y.end, stroke=svg.MUTED, stroke_dasharray="3 4"
        )
    )
    on_right = x(intensity) < width * 0.75
    labels = svg.apart([y(roof.flops / p.time_us * 1e6) for p in points])
    for point, label_y in zip(points, labels, strict=True):
        reached = roof.flops / point.time_us * 1e6
        parts.append(_dot(x(intensity), y(reached), point))
        share = f"{roof.floor_us / point.time_us:.0%}"
        reach = "" if width < _NARROW_BELOW else f" · {rate(reached, 'FLOP/s')}"
        told = f"{point.name}{reach} · {share}"
        at = x(intensity) + (12 if on_right else -12)
        anchor = "start" if on_right else "end"
        parts.append(_label(told, at, label_y + 4, anchor, point))
    return _whole(roof, points, width, _HEIGHT, parts)


def _bandwidth(roof: Roofline, points: Sequence[Point], width: int) -> Markup:
    row, left, right = 34, 8, 16
    height = _TOP + row * len(points) + _BOTTOM
    bottom = height - _BOTTOM
    most = max((roof.bytes_moved / p.time_us * 1e6 for p in points), default=0.0)
    x = Scale(0, max(most, roof.copy_bytes_per_s) * 1.02, left, width - right)
    parts = []
    for tick in x.ticks(4 if width < _NARROW_BELOW else 8):
        parts.append(svg.line(x(tick), _TOP, x(tick), bottom))
        label = "0" if tick == 0 else rate(tick, "B/s")
        anchor = "start" if tick == 0 else "middle"
        parts.append(svg.text(label, x(tick), bottom + 18, text_anchor=anchor))
    for position, point in enumerate(points):
        y = _TOP + row * position + 25
        reached = roof.bytes_moved / point.time_us * 1e6
        parts.append(
            svg.line(
                x.start, y, x(reached), y, stroke=point.colour, stroke_width=3, stroke_opacity=0.45
            )
        )
        parts.append(_dot(x(reached), y, point))
        told = f"{point.name} · {rate(reached, 'B/s')} · {roof.floor_us / point.time_us:.0%}"
        parts.append(_label(told, x.start, y - 9, "start", point))
    at = x(roof.copy_bytes_per_s)
    parts.append(svg.line(at, _TOP - 8, at, bottom, stroke=svg.INK, stroke_width=2.2))
    roof_label = f"copy bandwidth {rate(roof.copy_bytes_per_s, 'B/s')}"
    parts.append(svg.text(roof_label, at, _TOP - 13, text_anchor="end", fill=svg.INK))
    return _whole(roof, points, width, height, parts)


def _grid(x: Scale, y: Scale, unit: str) -> list[Markup]:
    parts = []
    for tick in y.ticks():
        parts.append(svg.line(x.start, y(tick), x.end, y(tick)))
        parts.append(svg.text(rate(tick, unit), x.start - 8, y(tick) + 4, text_anchor="end"))
    return parts


def _dot(x: float, y: float, point: Point) -> Markup:
    title = svg.element("title", Markup.escape(f"{point.name}: {microseconds(point.time_us)}"))
    if point.ours:
        return svg.element("circle", title, cx=x, cy=y, r=5.5, fill=point.colour)
    return svg.element(
        "circle", title, cx=x, cy=y, r=4.5, fill=svg.PAPER, stroke=point.colour, stroke_width=2
    )


def _label(told: str, x: float, y: float, anchor: str, point: Point) -> Markup:
    return svg.text(
        told,
        x,
        y,
        text_anchor=anchor,
        fill=svg.INK if point.ours else svg.MUTED,
        **svg.HALO,
    )


def _whole(
    roof: Roofline, points: Sequence[Point], width: int, height: int, parts: Sequence[Markup]
) -> Markup:
    told = "; ".join(f"{p.name} {roof.floor_us / p.time_us:.0%}" for p in points)
    return svg.canvas(
        width,
        height,
        "Roofline",
        f"Bound by {roof.bound}; share of the limit reached: {told}",
        *parts,
    )
