"""Several variants in one answer: built side by side, one chosen, the others remembered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import write_recording
from test_durability import kill_in, server, untimed  # noqa: F401 - a fixture

from cutegen.events import Built, Proposed, Selected
from cutegen.execution import EmulatedExecutor
from cutegen.execution.protocol import MeasurementJob, Race, RaceJob
from cutegen.graphs.following import open_run
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget
from cutegen.history import Decision, StepKind
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.result import RunStatus
from cutegen.spec import KernelSpec
from cutegen.status import Status

Play = Callable[..., Any]

BROKEN = "VARIANT: a typo\n<<<<<<< SEARCH\n{right}\n=======\n{undeclared}\n>>>>>>> REPLACE\n"
WRONG = "VARIANT: a sign\n<<<<<<< SEARCH\n{right}\n=======\n{wrong}\n>>>>>>> REPLACE\n"


def variants(*parts: str) -> tuple[str, str]:
    lines = (part if "\n" in part else f"VARIANT: {part}\n" for part in parts)
    return "profile_tuner", f"INTENT: other blocks\nEXPECTED: less\n{''.join(lines)}"


@pytest.fixture
def tuned(script: Any) -> Callable[..., list[tuple[str, str]]]:
    """A run that comes to the tuner at once, and ends with its answer."""

    def replies(*parts: str) -> list[tuple[str, str]]:
        return [
            script.first(),
            *script.out_of_ideas("structural_optimizer", times=2),
            variants(*parts),
            *script.out_of_ideas("profile_tuner"),
        ]

    return replies


def test_one_of_several_is_chosen_and_all_are_remembered(
    play: Play, script: Any, tuned: Callable[..., Any]
) -> None:
    broken, wrong = (
        text.format(right=script.right, undeclared=script.undeclared, wrong=script.wrong)
        for text in (BROKEN, WRONG)
    )
    played = play(
        tuned(broken, "kThreads = 128", wrong, "kThreads = 512"), budget=Budget(steps=3, repairs=0)
    )
    assert played.result.status is RunStatus.SUCCEEDED, played.result.reason
    assert played.result.reason == "every step of the budget was used"  # three, not six
    chosen, *others = played.result.steps[3:]
    assert (chosen.intent, chosen.decision) == ("other blocks: kThreads = 128", Decision.REJECTED)
    assert chosen.beside == ""
    assert {step.beside for step in others} == {chosen.candidate}
    assert [(step.decision, step.status) for step in others] == [
        (Decision.REJECTED, Status.PASSED),
        (Decision.FAILED, Status.COMPILE_ERROR),
        (Decision.FAILED, Status.WRONG_VALUES),
    ]
    assert others[0].reason.startswith("another variant of the same answer was chosen; not raced")
    proposed = [e for e in played.events if isinstance(e, Proposed) and e.kind is StepKind.TUNING]
    assert len(proposed) == 4
    built = [e.candidate for e in played.events if isinstance(e, Built)][1:]
    assert built == [event.candidate for event in proposed]
    assert len([e for e in played.events if isinstance(e, Selected)]) == 7
    assert "diagnose" not in played.nodes


class Racing(EmulatedExecutor):
    """Judges for real; its clock says that fewer threads are faster, and one is not believed."""

    def race(self, job: RaceJob) -> Race:
        return Race(timings=tuple(map(self._timing, job.sources)))

    def measure(self, job: MeasurementJob) -> Measurement:
        if "kThreads = 64;" in job.source:
            return Measurement(
                state=MeasurementState.REFUSED,
                reason="faster than light",
                candidate=self._timing(job.source),
            )
        incumbent = self._timing(job.incumbent) if job.incumbent else None
        return Measurement(
            state=MeasurementState.MEASURED,
            candidate=self._timing(job.source),
            incumbent=incumbent,
        )

    def _timing(self, source: str) -> Timing:
        threads = int(source.split("constexpr int kThreads = ")[1].split(";", maxsplit=1)[0])
        return Timing(samples_us=tuple(threads + i / 100 for i in range(50)))


def test_the_fastest_is_kept_unless_it_is_not_believed(
    play: Play, tuned: Callable[..., Any]
) -> None:
    played = play(
        tuned("kThreads = 192", "kThreads = 128", "kThreads = 64"),
        executor=Racing(),
        budget=Budget(steps=3),
    )
    assert "kThreads = 128;" in played.result.best.source
    chosen, *others = played.result.steps[3:]
    assert (chosen.intent, chosen.decision) == ("other blocks: kThreads = 128", Decision.ACCEPTED)
    assert chosen.reason.startswith("faster: 1.998x the incumbent")
    assert "it runs at" not in chosen.reason
    refused, slower = others
    assert (refused.decision, refused.status) == (Decision.FAILED, Status.TOO_FAST_TO_BE_TRUE)
    assert slower.time_us == pytest.approx(192.245)
    assert "it runs at" in slower.reason


def test_where_all_fail_one_is_mended(play: Play, script: Any, tuned: Callable[..., Any]) -> None:
    """The others stay in the memory of failures; what was tried is not built again."""
    broken = BROKEN.format(right=script.right, undeclared=script.undeclared)
    other = broken.replace("return y /", "return z /")
    before = tuned(broken, other)[:-1]
    played = play(
        [
            *before,
            script.diagnosis("y is not declared"),
            script.repair(script.undeclared, script.undeclared.replace("y", "z")),
        ],
        budget=Budget(steps=3, repairs=1),
    )
    assert played.steps[3:] == [("tuning", "failed"), ("tuning", "failed"), ("repair", "failed")]
    assert "was tried in step 4" in played.result.steps[-1].reason
    assert played.result.status is RunStatus.SUCCEEDED


def test_what_was_tried_is_left_out(play: Play, tuned: Callable[..., Any]) -> None:
    replies = tuned("kThreads = 128", "kThreads = 512")
    replies[-1:] = [variants("kThreads = 128", "kThreads = 1024"), variants("kThreads = 512")]
    played = play(replies, budget=Budget(steps=5))
    assert [step.intent for step in played.result.steps[5:]] == [
        "other blocks: kThreads = 1024",
        "other blocks: kThreads = 512",
    ]
    assert "was tried in step 4" in played.result.steps[-1].reason


def test_a_run_killed_among_variants_ends_as_if_nothing_had_been(
    server: Any,  # noqa: F811 - the fixture
    tiny: KernelSpec,
    tuned: Callable[..., Any],
    tmp_path: Path,
) -> None:
    model = write_recording(tmp_path / "variants.jsonl", tuned("kThreads = 128", "kThreads = 512"))
    options = {
        "model": model,
        "executor": "emulated",
        "nvcc_gate": False,
        "runs_dir": tmp_path / "runs",
        "run_id": "killed",
        "budget": Budget(steps=3),
    }
    undisturbed = run_graph(tiny, **{**options, "run_id": "whole"})
    folder = kill_in("verify", server, tiny, options, after='"agent":"profile_tuner"')
    with open_run(folder) as (graph, config):
        state = graph.get_state(config).values
    assert [rival["intent"] for rival in state["rivals"]] == ["other blocks: kThreads = 512"]
    assert len(json.dumps(state)) < 20_000
    assert untimed(run_graph(tiny, **options)) == untimed(undisturbed)
    assert len(undisturbed.steps) == 5
