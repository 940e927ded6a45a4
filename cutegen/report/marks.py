"""The marks of steps: their shape is the decision, their colour the agent."""

from markupsafe import Markup

from cutegen.history import Decision, Step
from cutegen.report import svg
from cutegen.report.axes import microseconds

_MARK = 5.5  # radius, in pixels


def mark_of(step: Step, x: float, y: float, href: str) -> Markup:
    """The mark of a step at a place, which tells what it was and leads to it.

    Args:
        step: What is marked.
        x: The middle, in pixels.
        y: The same.
        href: The link, with ``{}`` for the step's index; empty for none.
    """
    time = "" if step.time_us is None else f", {microseconds(step.time_us)}"
    told = f"step {step.index}, {step.agent.replace('_', ' ')}: {step.decision.value}{time}"
    shape = shape_of(step.decision, x, y, svg.agent_colour(step.agent))
    title = svg.element("title", Markup.escape(f"{told}. {step.intent}" if step.intent else told))
    if not href:
        return svg.element("g", title, shape)
    return svg.element("a", title, shape, href=href.format(step.index), aria_label=told)


def shape_of(decision: Decision, x: float, y: float, colour: str) -> Markup:
    """The mark of a decision: disc, ring, cross, arrow, dot. Colour never speaks alone."""
    match decision:
        case Decision.ACCEPTED:
            return svg.element("circle", cx=x, cy=y, r=_MARK, fill=colour)
        case Decision.REJECTED:
            return svg.element(
                "circle", cx=x, cy=y, r=_MARK - 1, fill=svg.PAPER, stroke=colour, stroke_width=2
            )
        case Decision.FAILED:
            r = _MARK - 1
            cross = f"M{x - r:.2f},{y - r:.2f}l{2 * r},{2 * r}m0,{-2 * r}l{-2 * r},{2 * r}"
            halo = svg.element("circle", cx=x, cy=y, r=_MARK + 1, fill=svg.PAPER)
            return halo + svg.element(
                "path", d=cross, stroke=svg.BAD, stroke_width=2.4, stroke_linecap="round"
            )
        case Decision.HANDED_BACK:
            r = _MARK - 1
            arrow = f"M{x + r:.2f},{y:.2f}h{-2 * r}l{r},{-r}m{-r},{r}l{r},{r}"
            halo = svg.element("circle", cx=x, cy=y, r=_MARK + 1, fill=svg.PAPER)
            return halo + svg.element(
                "path", d=arrow, fill="none", stroke=colour, stroke_width=2, stroke_linecap="round"
            )
        case Decision.NO_PROPOSAL:
            return svg.element("circle", cx=x, cy=y, r=2.5, fill=svg.MUTED)
