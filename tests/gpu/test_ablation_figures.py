"""What the scripts of the edge and of the ablation make of a log; it needs no GPU."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ablation_figures import MODES, ablation_table
from ablation_tasks import designs_of, spec_of
from run_ablation import proposals_to_best
from run_edge import is_whole, story

from cutegen.events import Event, PredicateChanged, PredicateHeld, Selected
from cutegen.history import Decision, Step, StepKind


def run(spec: str, mode: str, time_us: float | None) -> dict[str, Any]:
    return {
        "spec": spec,
        "mode": mode,
        "time_us": time_us,
        "speedup": 2.0,
        "proposals": 10,
        "proposals_to_best": 4,
        "builds": 11,
        "wall_s": 61.2,
    }


def test_the_table_compares_specs_that_were_run_in_every_mode() -> None:
    times = dict(zip(MODES, (10.0, 20.0, 10.0), strict=True))
    runs = [run("relu", mode, time) for mode, time in times.items()]
    runs += [run("gelu", "delayed", 5.0), run("mish", "never", None)]
    table = ablation_table({"runs": runs, "steps": 10, "commit": "abcdef0123456"})
    assert "| relu | 10.0 µs | 20.0 µs | 10.0 µs | 2.00x / 2.00x / 2.00x | 4 of 10 /" in table
    assert "immediate: 2.000x the time of delayed profiling (geometric mean over 1 specs)" in table
    assert "2 specs have not been run in every mode" in table
    assert "gelu" not in table


def test_proposals_to_the_best() -> None:
    kinds = ("synthesis", "structural", "repair", "tuning", "tuning")
    decisions = ("accepted", "failed", "accepted", "accepted", "rejected")
    steps = tuple(
        Step(index=i, kind=StepKind(kind), agent="", intent="", decision=Decision(decision))
        for i, (kind, decision) in enumerate(zip(kinds, decisions, strict=True))
    )
    assert proposals_to_best(steps) == 2


def test_the_story_of_an_edge() -> None:
    held, opened = PredicateHeld(why=""), PredicateChanged(stable=True, why="")
    closed = PredicateChanged(stable=False, why="")
    chosen = Selected(
        step=1,
        kind=StepKind.STRUCTURAL,
        candidate="c",
        decision=Decision.ACCEPTED,
        reason="",
    )
    events: list[Event] = [held, held, chosen, held, opened, closed, held, chosen, opened]
    told = story(events)
    assert told == ["held", "structure", "held", "opened", "closed", "held", "structure", "opened"]
    assert is_whole(told)
    assert not is_whole(story(events[:-1]))
    assert not is_whole(story([held, opened, closed, opened]))


@pytest.mark.parametrize("name", ["bias_scale", "softmax_of_few_rows", "half_matmul"])
def test_every_spec_has_designs_to_build(name: str) -> None:
    assert len(designs_of(spec_of(name))) > 5
