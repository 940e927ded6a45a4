"""What a notebook shows of the nouns: escaped, in any theme, and as text without HTML."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

from cutegen.events import Built, Finished, NodeStarted, Proposed, Selected, Verified
from cutegen.history import Decision, Step, StepKind
from cutegen.measurement.profile import Bottleneck, Profile, Reading
from cutegen.measurement.timing import Measurement, MeasurementState, Roofline, Timing
from cutegen.report.dossier import Chapter, Dossier
from cutegen.report.edge import Opening
from cutegen.report.fingerprint_diff import compare
from cutegen.report.listing import RunState
from cutegen.report.live import LiveRun
from cutegen.report.markup import COLOURS, lines_of
from cutegen.report.notebook import bundle
from cutegen.report.terminal import line_of
from cutegen.result import BestKernel, Question, RunResult, RunStatus
from cutegen.shown import Shown
from cutegen.status import Status
from cutegen.structure import Fingerprint
from cutegen.toolchain.protocol import Diagnostic
from cutegen.verification.verdict import ErrorMeasure, Evidence, Verdict

NASTY = "<script>alert('x')</script> & <b>"
THEMES = {"white": "#ffffff", "dark": "#1e1e1e", "black": "#111111"}
VOID = {"br", "hr", "img"}


class Tags(HTMLParser):
    """Notes every tag, and that each is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def measured() -> Measurement:
    samples = tuple(10.0 + i / 100 for i in range(50))
    return Measurement(
        state=MeasurementState.MEASURED,
        candidate=Timing(samples_us=samples),
        incumbent=Timing(samples_us=tuple(2 * s for s in samples)),
        baselines={"eager": Timing(samples_us=tuple(3 * s for s in samples))},
        roofline=Roofline(
            bytes_moved=1,
            flops=0,
            copy_bytes_per_s=1.0,
            flops_per_s=1.0,
            floor_us=9.0,
            bound="memory",
            fraction=0.88,
        ),
    )


def verdict(status: Status = Status.WRONG_VALUES) -> Verdict:
    return Verdict(
        status=status,
        executor="emulated",
        evidence=Evidence(
            summary=NASTY,
            diagnostics=(
                Diagnostic(severity="error", message=NASTY, line=3, source_line="a < b && c > d"),
            ),
            hints=(NASTY,),
            errors=(
                ErrorMeasure(
                    check="odd/normal",
                    output="out",
                    error=0.5,
                    torch_error=1e-8,
                    bound=1e-7,
                    max_abs_error=1.0,
                    bad_count=1234,
                    total=5678,
                ),
            ),
            log=NASTY,
        ),
    )


@pytest.fixture
def result(tmp_path: Path) -> RunResult:
    kernel = tmp_path / "best.cu"
    kernel.write_text("if (i < n && j > 0) out[i] = x[i];")
    step = Step(
        index=0,
        kind=StepKind.STRUCTURAL,
        agent="structural_optimizer",
        intent=NASTY,
        candidate="c",
        status=Status.RACE,
        decision=Decision.FAILED,
        reason=NASTY,
    )
    good = step.model_copy(
        update={
            "index": 1,
            "status": Status.PASSED,
            "decision": Decision.ACCEPTED,
            "time_us": 10.2,
            "speedup": 3.0,
        }
    )
    return RunResult(
        status=RunStatus.SUCCEEDED,
        run_id="r",
        run_dir=tmp_path,
        spec="s",
        spec_name=NASTY,
        best=BestKernel(
            id="c",
            source_path=kernel,
            verdict=verdict(Status.PASSED),
            speedup=3.0,
            timing=measured().candidate,
            roofline_fraction=0.88,
            executor="cuda",
        ),
        question=Question(agent="repairer", prompt=NASTY, prompt_file=tmp_path / "q.md"),
        steps=(step, good, step.model_copy(update={"index": 2})),
        reason=NASTY,
        executor="cuda",
        model="playbook",
    )


@pytest.fixture
def nouns(result: RunResult) -> list[Shown]:
    assert result.best is not None
    before = Fingerprint(features={"copies": NASTY, "grid": "flat"}, parameters={"k": 1, "old": 2})
    after = Fingerprint(features={"copies": "wide", "grid": "flat"}, parameters={"k": 3})
    chapters = [
        Chapter(step=step, source=f"b\n{NASTY}", parent_source=f"a\n{NASTY}", verdict=verdict())
        for step in result.steps
    ]
    run = Dossier(
        folder=result.run_dir,
        run_id="r",
        state=RunState.SUCCEEDED,
        started=None,
        result=result,
        spec=None,
        settings={},
        chapters=tuple(chapters),
        unplaced=(),
        openings=(Opening(first=1, why=NASTY),),
        takeovers=(),
        findings=(),
        events=(),
    )
    return [
        run,
        *chapters,
        result,
        result.best,
        verdict(),
        measured(),
        Measurement(state=MeasurementState.REFUSED, reason=NASTY),
        Profile(
            source="ncu",
            bottleneck=Bottleneck.MEMORY,
            evidence=NASTY,
            readings=(Reading(metric="dram", value=92.5, unit="%", rule=NASTY, rule_source="a"),),
            unknown=NASTY,
            facts={"registers": 32, "stalls": {"long": 0.5}, "name": NASTY},
        ),
        compare(before, after),
    ]


def test_ipython_shows_every_noun_as_html_and_as_text(nouns: list[Shown]) -> None:
    for noun in nouns:
        shown, _ = DisplayFormatter().format(noun)
        assert set(shown) == {"text/html", "text/plain"}, noun
        assert not shown["text/plain"].startswith(type(noun).__name__)


def test_nothing_in_a_noun_becomes_markup(nouns: list[Shown]) -> None:
    for noun in nouns:
        page = bundle(noun)["text/html"]
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "script" not in tags.seen
        if NASTY in str(noun):
            assert "&lt;script&gt;" in page


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", COLOURS.values())
@pytest.mark.parametrize("ground", THEMES.values(), ids=list(THEMES))
def test_a_colour_can_be_read_on_light_and_on_dark(colour: str, ground: str) -> None:
    low, high = sorted((_luminance(colour), _luminance(ground)))
    assert (high + 0.05) / (low + 0.05) >= 3


def test_no_noun_brings_another_colour_or_a_ground(nouns: list[Shown]) -> None:
    for noun in nouns:
        page = bundle(noun)["text/html"]
        fallbacks = re.compile(r"var\((--cg-[a-z]+), [^)]+\)")  # every variable is set
        assert set(fallbacks.findall(page)) <= set(re.findall(r"(--cg-[a-z]+):", page))
        for colour in set(re.findall(r"#[0-9a-fA-F]{6}\b", fallbacks.sub("", page))):
            test_a_colour_can_be_read_on_light_and_on_dark(colour, THEMES["white"])
            test_a_colour_can_be_read_on_light_and_on_dark(colour, THEMES["dark"])
        for ground in re.findall(r"background[^:;]*:\s*([^;\"]+)", page):
            tint = re.fullmatch(r"rgba\(.*, \.(\d+)\)", ground)
            assert ground == "none" or (tint and float(f"0.{tint[1]}") < 0.4), ground
        assert not re.search(r"(?<![-\w])color:\s*+(?!#|inherit)", page)


def test_a_result_says_what_matters(result: RunResult) -> None:
    page, text = bundle(result)["text/html"], bundle(result)["text/plain"]
    for said in (
        "3.00x over PyTorch eager",
        "88%",
        "failed: RACE",
        "10.2 µs",
        "i &lt; n &amp;&amp;",
    ):
        assert said in page
    assert "3.00x over PyTorch eager" in text
    assert "resume_run" in page


def test_a_time_is_shown_beside_what_it_is_compared_with() -> None:
    shown = bundle(measured())
    for name in ("kernel", "incumbent", "eager", "88% of the memory roofline"):
        assert name in shown["text/html"]
    assert "2.99x" in shown["text/plain"] or "3.00x" in shown["text/plain"]


def test_a_fingerprint_diff_tells_structure_from_numbers() -> None:
    one = Fingerprint(features={"copies": "scalar", "grid": "flat"}, parameters={"k": 1})
    two = Fingerprint(features={"copies": "wide", "grid": "flat"}, parameters={"k": 1})
    three = Fingerprint(features={"copies": "wide", "grid": "flat"}, parameters={"k": 2, "m": 1})
    assert not compare(one, two).same_structure
    assert compare(two, three).same_structure
    assert bundle(compare(one, two))["text/plain"] == "another structure\n  copies: scalar → wide"
    assert bundle(compare(two, three))["text/plain"] == (
        "the same structure\n  k: 1 → 2\n  m: none → 1"
    )


def test_the_lines_of_the_terminal_become_html() -> None:
    event = Built(
        candidate="c", toolchain="nvcc", status=Status.COMPILE_ERROR, summary="x[i] < y & z"
    )
    page = lines_of([line_of(event)])
    assert "x[i] &lt; y &amp; z" in page
    assert f"color:{COLOURS['red']}" in page


def test_a_live_run_prints_where_there_is_no_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    live = LiveRun()
    live(NodeStarted(node="compile"))
    live(
        Proposed(
            agent="synthesizer", kind=StepKind.SYNTHESIS, candidate="c", intent="one per thread"
        )
    )
    live(Verified(candidate="c", status=Status.PASSED, summary="exact", seconds=1.0))
    live(
        Selected(
            step=0,
            kind=StepKind.SYNTHESIS,
            candidate="c",
            decision=Decision.ACCEPTED,
            reason="first",
        )
    )
    live(Finished(status="SUCCEEDED", reason="done"))
    assert capsys.readouterr().out == (
        "synthesizer: one per thread\n  verified (1.0 s)\n  accepted: first\n"
    )


def test_a_reader_of_results_loads_no_display() -> None:
    script = (
        "import sys, cutegen.result, cutegen.measurement.profile;"
        "assert not {'IPython', 'rich', 'markupsafe', 'cutegen.report'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
