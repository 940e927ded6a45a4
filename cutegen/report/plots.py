"""The plots of a run, each drawn twice: for a wide page, and for a phone."""

from collections.abc import Callable

from markupsafe import Markup

from cutegen.measurement.timing import Timing
from cutegen.report import svg
from cutegen.report.dossier import Chapter, Dossier
from cutegen.report.roofline import Point, roofline_svg
from cutegen.report.samples import KERNEL, samples_svg
from cutegen.report.trajectory import NARROW, WIDE, trajectory_svg
from cutegen.result import BestKernel

Plots = tuple[Markup, Markup]  # wide, narrow
_CONTENDERS = {"eager": "PyTorch eager", "compile": "torch.compile"}


def sample_plots(dossier: Dossier) -> Plots | None:
    """Every sample of the winner and of PyTorch; None where nothing was measured."""
    best = _best(dossier)
    if best is None or best.timing is None:
        return None
    timings: dict[str, Timing] = {KERNEL: best.timing}
    timings |= {_CONTENDERS.get(name, name): timing for name, timing in best.baselines.items()}
    floor = best.roofline.floor_us if best.roofline else None
    return _twice(lambda width: samples_svg(timings, floor_us=floor, width=width))


def step_samples(chapter: Chapter) -> Plots | None:
    """Every sample of a step's session: its kernel, the incumbent, PyTorch; None without one."""
    measurement = chapter.measurement
    if measurement is None or measurement.candidate is None:
        return None
    timings: dict[str, Timing] = {KERNEL: measurement.candidate}
    if measurement.incumbent is not None:
        timings["the best before it"] = measurement.incumbent
    timings |= {_CONTENDERS.get(n, n): timing for n, timing in measurement.baselines.items()}
    floor = measurement.roofline.floor_us if measurement.roofline else None
    return _twice(lambda width: samples_svg(timings, floor_us=floor, width=width))


def trajectory_plots(dossier: Dossier) -> Plots:
    """The course of the search."""
    best = _best(dossier)
    references: dict[str, float] = {}
    if best is not None:
        references = {name: timing.median_us for name, timing in best.baselines.items()}
        if best.roofline is not None:
            references["roofline"] = best.roofline.floor_us
    openings = [o for o in dossier.openings if o.first < len(dossier.steps)]
    return _twice(
        lambda width: trajectory_svg(
            dossier.steps,
            references=references,
            openings=openings,
            takeovers=dossier.takeovers,
            width=width,
        )
    )


def roofline_plots(dossier: Dossier) -> Plots | None:
    """The winner, PyTorch and the steps before under the roof; None where there is no roof."""
    best = _best(dossier)
    if best is None or best.roofline is None or best.timing is None:
        return None
    roof = best.roofline
    points = [
        Point(_CONTENDERS.get(name, name), timing.median_us, ours=False, colour=svg.MUTED)
        for name, timing in best.baselines.items()
    ]
    points += [
        Point(f"step {step.index}", step.time_us, colour=svg.agent_colour(step.agent))
        for step in dossier.steps
        if step.time_us is not None
    ]
    points.append(Point("the winner, measured again", best.timing.median_us, colour=svg.GOOD))
    return _twice(lambda width: roofline_svg(roof, points, width=width))


def _best(dossier: Dossier) -> BestKernel | None:
    return dossier.result.best if dossier.result else None


def _twice(draw: Callable[[int], Markup]) -> Plots:
    return draw(WIDE), draw(NARROW)
