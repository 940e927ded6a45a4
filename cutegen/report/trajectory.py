"""The course of a search: the time of each step, who took it, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cutegen.history import Decision, Step
from cutegen.report import svg
from cutegen.report.axes import Scale, around, microseconds
from cutegen.report.edge import Opening, Takeover
from cutegen.report.marks import mark_of, shape_of

WIDE, NARROW = 960, 400
_NARROW_BELOW = 600
_PANEL = 250  # height of the plot of times
_TOP, _LEGEND = 34, 40
_MARGIN, _GUTTER = 18, 116  # right of the plot: without and with times to compare with
_LABEL = (64, 16)  # width and height of a time beside a mark


@dataclass(frozen=True)
class _Frame:
    """Where things lie, in pixels."""

    width: int
    agents: tuple[str, ...]
    count: int
    timed: bool
    compared: bool

    @property
    def right(self) -> int:
        return self.width - (_GUTTER if self.compared else _MARGIN)

    @property
    def narrow(self) -> bool:
        return self.width < _NARROW_BELOW

    @property
    def left(self) -> int:
        return 60 if self.narrow else 164

    @property
    def lane_height(self) -> int:
        return 40 if self.narrow else 30

    @property
    def lanes_top(self) -> int:
        return _TOP + (_PANEL + 26 if self.timed else 0)

    @property
    def lanes_bottom(self) -> int:
        return self.lanes_top + self.lane_height * len(self.agents)

    @property
    def height(self) -> int:
        return self.lanes_bottom + 26 + (_LEGEND + 20 if self.narrow else _LEGEND)

    def x(self, step: float) -> float:
        return self.left + (self.right - self.left) * (step + 0.5) / max(1, self.count)

    def lane(self, agent: str) -> float:
        middle = 0.68 if self.narrow else 0.5  # a narrow lane has its name above it
        return self.lanes_top + self.lane_height * (self.agents.index(agent) + middle)


def trajectory_svg(
    steps: Sequence[Step],
    *,
    references: Mapping[str, float] | None = None,
    openings: Sequence[Opening] = (),
    takeovers: Sequence[Takeover] = (),
    width: int = WIDE,
    href: str = "#step-{}",
) -> Markup:
    """Draw the steps of a run from left to right; a run without times shows its lanes alone.

    Args:
        steps: In order; times in microseconds.
        references: Times to compare with by name, in microseconds: PyTorch's, the roofline's.
        openings: When the profile edge stood open.
        takeovers: When the run went on elsewhere.
        width: In pixels; below 600 the drawing is laid out for a phone.
        href: The link of a step, with ``{}`` for its index; empty for none.
    """
    times = [step.time_us for step in steps if step.time_us is not None]
    present = {step.agent for step in steps}
    named = [agent for agent in svg.AGENTS if agent in present]
    agents = tuple(named + sorted(present - set(named)))
    frame = _Frame(
        width, agents, len(steps), timed=bool(times), compared=bool(times and references)
    )
    parts = [_opening(frame, opening, len(steps)) for opening in openings]
    parts += [_takeover(frame, takeover) for takeover in takeovers]
    if times:
        parts.append(_times(frame, steps, references or {}, times, href))
    parts += [_lanes(frame, steps, href), _legend(frame, steps)]
    return svg.canvas(width, frame.height, "Trajectory", _told(steps), *parts)


def _told(steps: Sequence[Step]) -> str:
    counts = {d: sum(step.decision is d for step in steps) for d in Decision}
    said = ", ".join(f"{count} {decision.value}" for decision, count in counts.items() if count)
    return f"{len(steps)} steps: {said}"


def _opening(frame: _Frame, opening: Opening, count: int) -> Markup:
    last = count - 1 if opening.last is None else opening.last
    start, end = frame.x(opening.first - 0.5), frame.x(last + 0.5)
    area = svg.element(
        "rect",
        svg.element("title", Markup.escape(f"The profile edge opened: {opening.why}")),
        x=start,
        y=_TOP - 12,
        width=end - start,
        height=frame.lanes_bottom - _TOP + 12,
        rx=4,
        fill=svg.OPEN,
    )
    at_end = end - start < 110  # noqa: PLR2004 - the label's own width
    label = svg.text(
        "profile edge open",
        end if at_end else start + 6,
        _TOP - 17,
        font_size=11,
        text_anchor="end" if at_end else "start",
        fill=svg.agent_colour("profile_tuner"),
    )
    return area + label


def _takeover(frame: _Frame, takeover: Takeover) -> Markup:
    at = frame.x(takeover.first - 0.5)
    return svg.line(
        at, _TOP - 12, at, frame.lanes_bottom, stroke=svg.MUTED, stroke_dasharray="2 4"
    ) + svg.text(f"on {takeover.executor}", at + 5, _TOP - 17, font_size=11)


def _times(
    frame: _Frame,
    steps: Sequence[Step],
    references: Mapping[str, float],
    times: Sequence[float],
    href: str,
) -> Markup:
    low, high = around([*times, *references.values()], 1.18)
    scale = Scale(low, high, _TOP + _PANEL, _TOP, logarithmic=True)
    parts = []
    for tick in scale.ticks():
        y = scale(tick)
        parts.append(svg.line(frame.left, y, frame.right, y))
        parts.append(svg.text(microseconds(tick), frame.left - 8, y + 4, text_anchor="end"))
    named = list(references.items())
    beside = svg.apart([scale(value) for _, value in named])
    for (name, value), label in zip(named, beside, strict=True):
        y = scale(value)
        parts.append(
            svg.line(frame.left, y, frame.right, y, stroke=svg.MUTED, stroke_dasharray="6 4")
        )
        told = f"{name} {microseconds(value)}"
        parts.append(svg.text(told, frame.right + 7, label + 4, font_size=11))
    best = [step for step in steps if step.decision is Decision.ACCEPTED and step.time_us]
    parts.append(_best_so_far(frame, scale, best))
    parts += [
        mark_of(step, frame.x(step.index), scale(step.time_us), href)
        for step in steps
        if step.time_us is not None
    ]
    parts += _labels(frame, scale, best)
    return Markup().join(parts)


def _best_so_far(frame: _Frame, scale: Scale, best: Sequence[Step]) -> Markup:
    points: list[tuple[float, float]] = []
    for step in best:
        if step.time_us is None:
            continue
        if points:
            points.append((frame.x(step.index), points[-1][1]))
        points.append((frame.x(step.index), scale(step.time_us)))
    if not points:
        return Markup()
    points.append((frame.right, points[-1][1]))
    return svg.path(points, stroke=svg.GOOD, stroke_width=2, stroke_linejoin="round")


def _labels(frame: _Frame, scale: Scale, best: Sequence[Step]) -> list[Markup]:
    """Times beside accepted steps: the last and the first ones, the others where there is room."""
    placed: list[tuple[float, float]] = []
    parts = []
    for step in [*best[-1:], *best[:-1]]:
        assert step.time_us is not None
        x, y = frame.x(step.index) + 8, scale(step.time_us) - 9
        if any(abs(x - a) < _LABEL[0] and abs(y - b) < _LABEL[1] for a, b in placed):
            continue
        placed.append((x, y))
        told = microseconds(step.time_us)
        parts.append(svg.text(told, x, y, fill=svg.INK, font_weight=600, **svg.HALO))
    return parts


def _lanes(frame: _Frame, steps: Sequence[Step], href: str) -> Markup:
    parts = []
    for agent in frame.agents:
        y = frame.lane(agent)
        parts.append(svg.line(frame.left, y, frame.right, y))
        label = agent.replace("_", " ")
        colour = svg.agent_colour(agent)
        if frame.narrow:
            parts.append(svg.text(label, frame.left, y - 12, fill=colour, font_size=11))
        else:
            parts.append(svg.text(label, frame.left - 14, y + 4, fill=colour, text_anchor="end"))
    parts += [mark_of(step, frame.x(step.index), frame.lane(step.agent), href) for step in steps]
    every = 1 + len(steps) // (12 if frame.narrow else 30)
    parts += [
        svg.text(
            str(step.index), frame.x(step.index), frame.lanes_bottom + 18, text_anchor="middle"
        )
        for step in steps
        if step.index % every == 0
    ]
    parts.append(svg.text("step", frame.left - 8, frame.lanes_bottom + 18, text_anchor="end"))
    return Markup().join(parts)


def _legend(frame: _Frame, steps: Sequence[Step]) -> Markup:
    """The decisions that occur, and the line of the best."""
    parts = []
    x, y = float(frame.left), frame.height - (_LEGEND + 20 if frame.narrow else _LEGEND) + 24.0
    present = {step.decision for step in steps}
    entries: list[tuple[str, Decision | None]] = [
        (decision.value.replace("-", " "), decision) for decision in Decision if decision in present
    ]
    if frame.timed:
        entries.append(("best so far", None))
    for name, decision in entries:
        length = 38 + 6.6 * len(name)
        if x + length > frame.width and x > frame.left:  # on a narrow plot there are two rows
            x, y = float(frame.left), y + 20
        if decision is not None:
            parts.append(shape_of(decision, x + 6, y - 4, svg.INK))
        else:
            parts.append(svg.line(x, y - 4, x + 14, y - 4, stroke=svg.GOOD, stroke_width=2))
        parts.append(svg.text(name, x + 19, y))
        x += length
    return Markup().join(parts)
