"""What a person reads: events as lines, results, verdicts and findings as text."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cutegen.doctor import Examination, Finding, Health
from cutegen.events import (
    AgentAsked,
    Built,
    Diagnosed,
    Event,
    Finished,
    Measured,
    NodeStarted,
    NothingProposed,
    PredicateChanged,
    Profiled,
    Proposed,
    RunStarted,
    Selected,
    Verified,
)
from cutegen.history import Decision, Step, StepKind
from cutegen.measurement.timing import Measurement, MeasurementState, Roofline, Timing
from cutegen.report.terminal import RunProgress, show_examination, show_result, show_verdict
from cutegen.result import BestKernel, RunResult, RunStatus
from cutegen.status import Status
from cutegen.toolchain.protocol import Diagnostic
from cutegen.verification.verdict import Evidence, Verdict

PASSED = Verdict(
    status=Status.PASSED, executor="cuda", evidence=Evidence(summary="as exact as PyTorch")
)
STARTED = RunStarted(
    run_id="r1",
    run_dir="/runs/r1",
    spec="swish",
    kernel_class="activation",
    executor="cuda",
    model="playbook",
    arch="sm_90a",
)


def written(show: Callable[[Console], None]) -> str:
    """What ``show`` writes to a console without colours, 100 columns wide."""
    page = StringIO()
    show(Console(file=page, width=100))
    return page.getvalue()


def line(event: Event) -> str:
    return written(lambda console: RunProgress(console).show(event))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (STARTED, "swish · activation · cuda · playbook · sm_90a\n/runs/r1\n"),
        (
            STARTED.model_copy(update={"resumed": True}),
            "swish · activation · cuda · playbook · sm_90a (taken up again)\n/runs/r1\n",
        ),
        (
            Proposed(
                agent="structural_optimizer",
                kind=StepKind.STRUCTURAL,
                candidate="c",
                intent="loads of 16 bytes",
            ),
            "structural optimizer: loads of 16 bytes\n",
        ),
        (
            NothingProposed(agent="profile_tuner", reason="nothing is left"),
            "profile tuner: nothing is left\n",
        ),
        (
            Built(candidate="c", toolchain="nvcc", status=Status.PASSED, seconds=6.54),
            "  built by nvcc (6.5 s)\n",
        ),
        (
            Built(candidate="c", toolchain="nvcc", status=Status.PASSED, cached=True),
            "  built by nvcc (cached)\n",
        ),
        (
            Built(candidate="c", toolchain="emulator", status=Status.COMPILE_ERROR, summary="no y"),
            "  COMPILE_ERROR by emulator: no y\n",
        ),
        (
            Verified(candidate="c", status=Status.PASSED, summary="exact", seconds=1.25),
            "  verified (1.2 s)\n",
        ),
        (
            Verified(candidate="c", status=Status.RACE, summary="two threads write out"),
            "  RACE: two threads write out\n",
        ),
        (
            Diagnosed(candidate="c", cause="the tail is not guarded", causes=2),
            "diagnostician: the tail is not guarded\n",
        ),
        (
            Measured(candidate="c", time_us=1234.56, speedup=1.5, roofline_fraction=0.914),
            "  1,234.6 µs, 1.50x over PyTorch eager, 91% of the roof\n",
        ),
        (Measured(candidate="c", time_us=7.0), "  7.0 µs\n"),
        (
            Selected(
                step=1,
                kind=StepKind.TUNING,
                candidate="c",
                decision=Decision.REJECTED,
                reason="no gain",
            ),
            "  rejected: no gain\n",
        ),
        (
            PredicateChanged(stable=True, why="3 rounds without gain"),
            "the profile edge opens: 3 rounds without gain\n",
        ),
        (
            PredicateChanged(stable=False, why="a new structure"),
            "the profile edge closes: a new structure\n",
        ),
        (
            Profiled(candidate="c", source="ncu", bottleneck="memory", evidence="DRAM at 92%"),
            "  ncu profile: memory; DRAM at 92%\n",
        ),
    ],
)
def test_an_event_is_a_line(event: Event, text: str) -> None:
    assert line(event) == text


@pytest.mark.parametrize(
    "event",
    [
        NodeStarted(node="compile"),
        AgentAsked(agent="repairer", attempt=0, seconds=1.0),
        Measured(candidate="c", reason="the emulator has no clock"),
        Finished(status="SUCCEEDED", reason="done"),
    ],
)
def test_what_only_the_log_wants_is_no_line(event: Event) -> None:
    assert line(event) == ""


@pytest.mark.parametrize("text", ["out[i] = gX[bold](i)", "[/]", "[/red] closes nothing"])
def test_brackets_of_code_are_text_not_markup(text: str) -> None:
    assert line(Diagnosed(candidate="c", cause=text, causes=1)) == f"diagnostician: {text}\n"
    verdict = Verdict(
        status=Status.COMPILE_ERROR,
        executor="cuda",
        evidence=Evidence(
            summary=text, diagnostics=(Diagnostic(severity="error", message=text, line=3),)
        ),
    )
    page = written(lambda console: show_verdict(console, verdict, None))
    assert f"COMPILE_ERROR {text}\n" in page
    assert f"line 3: {text}\n" in page


def test_a_long_line_is_left_to_the_terminal() -> None:
    cause = "word " * 60 + "end"
    assert line(Diagnosed(candidate="c", cause=cause, causes=1)).count("\n") == 1


def _result(best: BestKernel | None, status: RunStatus, reason: str) -> str:
    step = Step(
        index=0,
        kind=StepKind.SYNTHESIS,
        agent="synthesizer",
        intent="plain",
        decision=Decision.ACCEPTED,
    )
    result = RunResult(
        status=status,
        run_id="r1",
        run_dir=Path("/runs/r1"),
        spec="abc",
        spec_name="swish",
        best=best,
        steps=(step,) * 7,
        reason=reason,
        executor="cuda",
        model="playbook",
    )
    return written(lambda console: show_result(console, result))


def test_a_result_with_a_time() -> None:
    best = BestKernel(
        id="k",
        source_path=Path("/runs/r1/best.cu"),
        verdict=PASSED,
        speedup=2.345,
        executor="cuda",
    )
    page = _result(best, RunStatus.SUCCEEDED, "out of ideas")
    assert page.startswith("SUCCEEDED out of ideas\n")
    rows = dict(row.split(maxsplit=1) for row in page.splitlines()[1:])
    assert {name: text.strip() for name, text in rows.items()} == {
        "kernel": "/runs/r1/best.cu",
        "verdict": "as exact as PyTorch",
        "speed": "2.35x over PyTorch eager",
        "run": "/runs/r1",
        "steps": "7",
        "model": "playbook: 0 calls",
    }


def test_a_result_without_a_time_says_why() -> None:
    best = BestKernel(
        id="k",
        source_path=Path("/runs/r1/best.cu"),
        verdict=PASSED,
        speedup_reason="no clock here",
        executor="emulated",
    )
    page = _result(best, RunStatus.SUCCEEDED, "out of ideas")
    assert "not measured: no clock here" in page
    assert "eager" not in page


def test_a_result_without_a_kernel() -> None:
    page = _result(None, RunStatus.FAILED, "no candidate[0] was verified")
    assert page.startswith("FAILED no candidate[0] was verified\n")
    assert "/runs/r1" in page
    assert "kernel " not in page


def test_a_verdict_shows_its_evidence() -> None:
    diagnostic = Diagnostic(
        severity="error",
        message="y is undefined",
        line=8,
        source_line="return y;",
        detail="did you mean x?",
    )
    evidence = Evidence(
        summary="1 error", diagnostics=(diagnostic,), hints=("declare it",), log="raw log"
    )
    verdict = Verdict(status=Status.COMPILE_ERROR, executor="cuda", evidence=evidence)
    page = written(lambda console: show_verdict(console, verdict, None))
    assert page.splitlines() == [
        "COMPILE_ERROR 1 error",
        "  line 8: y is undefined (did you mean x?)",
        "    return y;",
        "  declare it",
    ]


def test_the_log_stands_in_for_diagnostics() -> None:
    evidence = Evidence(summary="the launch failed", log="illegal memory access\n")
    verdict = Verdict(status=Status.LAUNCH_ERROR, executor="cuda", evidence=evidence)
    page = written(lambda console: show_verdict(console, verdict, None))
    assert page == "LAUNCH_ERROR the launch failed\nillegal memory access\n"


def test_a_verdict_with_a_time() -> None:
    roofline = Roofline(
        bytes_moved=1,
        flops=1,
        copy_bytes_per_s=1.0,
        flops_per_s=1.0,
        floor_us=90.0,
        bound="memory",
        fraction=0.9,
    )
    measurement = Measurement(
        state=MeasurementState.MEASURED,
        candidate=Timing(samples_us=(99.0, 100.0, 101.0)),
        baselines={"eager": Timing(samples_us=(249.0, 250.0, 251.0))},
        roofline=roofline,
    )
    page = written(lambda console: show_verdict(console, PASSED, measurement))
    assert page.splitlines() == [
        "PASSED as exact as PyTorch",
        "100.0 µs, 2.50x over PyTorch eager, 90% of the roof",
    ]


def test_a_time_that_is_not_believed_is_not_shown() -> None:
    measurement = Measurement(
        state=MeasurementState.REFUSED,
        reason="faster than the roof allows",
        candidate=Timing(samples_us=(1.0, 1.0, 1.0)),
        baselines={"eager": Timing(samples_us=(250.0, 250.0, 250.0))},
    )
    page = written(lambda console: show_verdict(console, PASSED, measurement))
    assert "time refused: faster than the roof allows" in page
    assert "µs" not in page


def test_findings_come_with_advice() -> None:
    examination = Examination(
        findings=(
            Finding(part="g++", health=Health.OK, detail="12.2.0"),
            Finding(
                part="nvcc", health=Health.DEGRADED, detail="not found", advice="install [cuda]"
            ),
        ),
        executors=("emulated",),
    )
    page = written(lambda console: show_examination(console, examination))
    rows = [row.split() for row in page.splitlines()]
    assert rows == [
        ["part", "health", "found"],
        ["g++", "ok", "12.2.0"],
        ["nvcc", "degraded", "not", "found"],
        ["install", "[cuda]"],
        ["executors", "that", "can", "judge", "a", "kernel", "here:", "emulated"],
    ]


def test_a_terminal_shows_what_is_being_done_and_is_left_as_it_was() -> None:
    page = StringIO()
    console = Console(file=page, width=100, force_terminal=True)
    with RunProgress(console) as progress:
        progress.show(NodeStarted(node="compile", candidate="7e14c016"))
        progress.show(Built(candidate="c", toolchain="nvcc", status=Status.PASSED, cached=True))
    told = page.getvalue()
    assert "compile 7e14c016" in told
    assert "built by" in told
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h") == 1  # the cursor is back


def test_a_pipe_hears_nothing_of_what_is_being_done() -> None:
    page = StringIO()
    with RunProgress(Console(file=page, width=100)) as progress:
        progress.show(NodeStarted(node="compile"))
    assert page.getvalue() == ""
