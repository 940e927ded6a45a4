"""Plots from an H200's recorded numbers: what is in them, and that nothing in them is markup."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from cutegen.history import Decision, Step, StepKind
from cutegen.measurement.timing import Measurement
from cutegen.report.axes import Scale, digits, microseconds
from cutegen.report.edge import Opening, Takeover
from cutegen.report.marks import shape_of
from cutegen.report.roofline import Point, roofline_svg
from cutegen.report.samples import KERNEL, samples_svg
from cutegen.report.trajectory import NARROW, WIDE, trajectory_svg

RESULTS = Path(__file__).resolve().parents[2] / "gpu" / "results"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><script>alert(1)</script>\"'&<b>"


def recorded(name: str) -> tuple[Measurement, list[Step]]:
    told: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    steps = [Step.model_validate(step) for step in told["run"]["steps"]]
    return Measurement.model_validate(told["measurement"]), steps


def words(drawing: str) -> list[str]:
    """Every text of a drawing, which must be well-formed XML."""
    root = ET.fromstring(drawing)
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def box(drawing: str) -> tuple[float, float]:
    width, height = ET.fromstring(drawing).attrib["viewBox"].split()[2:]
    return float(width), float(height)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_trajectory_has_a_mark_for_each_step_in_the_plot_and_in_its_lane(width: int) -> None:
    measurement, steps = recorded("matmul")
    references = {name: t.median_us for name, t in measurement.baselines.items()}
    drawing = trajectory_svg(
        steps,
        references=references,
        openings=[Opening(first=6, why="two rounds without gain")],
        width=width,
    )
    links = [a.attrib["href"] for a in ET.fromstring(drawing).iter(f"{SVG}a")]
    timed = [step.index for step in steps if step.time_us is not None]
    assert links == [f"#step-{index}" for index in [*timed, *range(len(steps))]]
    assert {"profile edge open", "eager 2.694 ms", "3.197 ms"} <= set(words(drawing))
    assert "two rounds without gain" in drawing
    assert box(drawing)[0] == width


def test_the_best_line_falls_only_where_a_step_was_accepted() -> None:
    _, steps = recorded("matmul")
    root = ET.fromstring(trajectory_svg(steps))
    line = next(p for p in root.iter(f"{SVG}path") if p.attrib.get("stroke-width") == "2")
    heights = [float(point.split(",")[1]) for point in line.attrib["d"][1:].split("L")]
    assert heights == sorted(heights)  # faster lies lower
    assert len(set(heights)) == 3


def test_a_run_without_times_shows_lanes_and_no_axis_of_times() -> None:
    step = Step(
        index=0,
        kind=StepKind.SYNTHESIS,
        agent="synthesizer",
        intent="plain",
        decision=Decision.ACCEPTED,
    )
    failed = step.model_copy(update={"index": 1, "agent": "critic", "decision": Decision.FAILED})
    drawing = trajectory_svg(
        [step, failed], references={"eager": 5.0}, takeovers=[Takeover(first=1, executor="cuda")]
    )
    told = words(drawing)
    assert {"synthesizer", "critic", "on cuda"} <= set(told)
    assert not any("µs" in text for text in told)


def test_no_step_and_one_step_are_drawn_too() -> None:
    assert words(trajectory_svg([]))
    _, steps = recorded("swish")
    assert "5.115 ms" in words(trajectory_svg(steps[:1]))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_samples_show_every_call(width: int) -> None:
    measurement, _ = recorded("swish")
    assert measurement.candidate is not None
    assert measurement.roofline is not None
    drawing = samples_svg(
        {KERNEL: measurement.candidate, **measurement.baselines},
        floor_us=measurement.roofline.floor_us,
        width=width,
    )
    told = words(drawing)
    assert any(text.startswith("this kernel3.078 ms") for text in told)
    assert "roofline 3.05 ms" in told
    ticks = [p.attrib["d"].count("M") for p in ET.fromstring(drawing).iter(f"{SVG}path")]
    assert ticks == [100, 100, 100]


def test_a_product_lies_under_both_roofs() -> None:
    measurement, steps = recorded("matmul")
    assert measurement.roofline is not None
    points = [Point(f"step {s.index}", s.time_us) for s in steps if s.time_us is not None]
    told = words(roofline_svg(measurement.roofline, points))
    assert {"4.23 TB/s", "117 TFLOP/s", "step 2 · 43 TFLOP/s · 37%"} <= set(told)
    assert not set(words(roofline_svg(measurement.roofline, points, width=NARROW))) >= {
        "step 2 · 43 TFLOP/s · 37%"
    }


def test_an_activation_is_shown_by_its_bandwidth() -> None:
    measurement, _ = recorded("swish")
    assert measurement.roofline is not None
    eager = measurement.baselines["eager"].median_us
    told = words(roofline_svg(measurement.roofline, [Point("eager", eager, ours=False)]))
    assert {"copy bandwidth 4.23 TB/s", "eager · 1.73 TB/s · 41%"} <= set(told)


def test_what_an_agent_wrote_is_text() -> None:
    _, steps = recorded("swish")
    hostile = steps[0].model_copy(update={"intent": HOSTILE, "agent": HOSTILE})
    drawing = trajectory_svg([hostile], openings=[Opening(first=0, why=HOSTILE)])
    assert "<script" not in drawing
    assert " style=" not in drawing
    titles = [title.text or "" for title in ET.fromstring(drawing).iter(f"{SVG}title")]
    assert any(HOSTILE in title for title in titles)


def test_ticks_are_round_numbers_inside_the_range() -> None:
    assert Scale(0, 3200, 0, 1).ticks(8) == (0, 500, 1000, 1500, 2000, 2500, 3000)
    assert Scale(1.1, 31, 0, 1, logarithmic=True).ticks() == (3, 10, 30)
    assert Scale(2.6, 3.4, 0, 1, logarithmic=True).ticks(4) == pytest.approx(
        (2.6, 2.8, 3, 3.2, 3.4)
    )


def test_quantities_have_four_digits_and_no_exponent() -> None:
    assert microseconds(0.91234) == "0.9123 µs"
    assert microseconds(26241.66) == "26.24 ms"
    assert microseconds(2.5e6) == "2.5 s"
    assert digits(123456.7) == "123,457"
    assert digits(0.0) == "0"


def test_every_decision_has_a_shape_of_its_own_and_stands_in_the_legend() -> None:
    _, steps = recorded("swish")
    each = [
        steps[0].model_copy(update={"index": index, "decision": decision})
        for index, decision in enumerate(Decision)
    ]
    shapes = {str(shape_of(decision, 0, 0, "red")) for decision in Decision}
    assert len(shapes) == len(Decision)
    names = {decision.value.replace("-", " ") for decision in Decision}
    for width in (WIDE, NARROW):
        assert names <= set(words(trajectory_svg(each, width=width)))
    assert "failed" not in words(trajectory_svg(steps))
