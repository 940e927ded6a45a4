"""What a report says, of runs that were measured, that were not, and that never ended."""

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from recorded_folders import SOURCES, Folder, measured
from typer.testing import CliRunner

from cutegen.cli import app
from cutegen.events import (
    Finished,
    NodeStarted,
    PredicateChanged,
    PredicateHeld,
    RunStarted,
    Selected,
)
from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import candidate_id
from cutegen.report.digest import fact_rows
from cutegen.report.dossier import read_run
from cutegen.report.edge import edge_of, openings_of
from cutegen.report.page import prose, report_html
from cutegen.report.spending import seconds_by_work
from cutegen.report.writing import write_report, write_suite
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.store import ModelCall
from cutegen.suite import MemberStatus, SuiteMember, SuiteResult
from cutegen.verification.verdict import Evidence, Verdict

HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}"
PLAIN = re.compile(r"<[^>]+>")


def told(page: Path | str) -> str:
    """The text of a page, without its markup, style and script."""
    text = page if isinstance(page, str) else page.read_text()
    text = re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL)
    text = text.replace("\N{MULTIPLICATION SIGN}", "x")
    return " ".join(PLAIN.sub(" ", text).split())


def test_a_measured_run_says_how_fast_and_how_surely(suite: Path) -> None:
    page = told(suite / "swish" / "report.html")
    assert "SUCCEEDED" in page
    assert "Why the profile edge opened" in page
    assert "opened after step 1 the best reaches 99% of the roofline" in page
    assert "2.42x as fast as PyTorch eager 95 % interval 2.4" in page
    assert "over torch.compile 1.04x" in page
    assert "of the roofline 99% bound by memory" in page
    assert "time of a call 3.078 ms p20-p80 3.077 ms to 3.079 ms" in page
    assert ["1", "NVIDIA H200"][1] in page
    assert "cutegen run 25_Swish.py --executor cuda --math fp32 --model playbook" in page
    assert "CuTeGen at commit c0b60aab82307a22fccbc18ff5c30c04d60e58af" in page


def test_a_slower_kernel_is_called_slower(suite: Path) -> None:
    text = (suite / "matmul" / "report.html").read_text()
    assert 'class="hero warn"' in text
    assert "0.843x the speed of PyTorch eager" in told(text)
    assert (
        "The profile edge opened before step 6: the structural optimizer is out of ideas"
        in told(text)
    )
    assert "Expected four FMAs per value read from shared memory" in told(text)
    assert "What came of it slower: 0.734x the incumbent" in told(text)


def test_each_step_is_compared_with_what_it_was_made_from(suite: Path) -> None:
    dossier = read_run(suite / "matmul")
    assert [chapter.parent_step for chapter in dossier.chapters] == [
        None, 0, 1, 2, None, None, 2, 2,
    ]  # fmt: skip
    text = (suite / "matmul" / "report.html").read_text()
    assert text.count('<details class="change"') == 6
    assert "Diff against step 2" in told(text)
    assert 'id="s6-R20"' in text


def test_a_run_that_went_on_elsewhere_shows_its_prompts_and_both_commands(suite: Path) -> None:
    dossier = read_run(suite / "rms_norm")
    assert [(t.first, t.executor) for t in dossier.takeovers] == [(2, "cuda")]
    page = told(suite / "rms_norm" / "report.html")
    assert "You write GPU kernels in CuTe C++" in page
    assert "INTENT: keep the row in registers" in page
    assert "cutegen resume rms_norm --executor cuda" in page


def test_an_unfinished_run_has_a_report_too(suite: Path) -> None:
    page = told(suite / "begun" / "report.html")
    assert "UNFINISHED this run has not come to its end" in page
    assert "Unfinished the best so far is the verified kernel of step 1" in page
    assert "cutegen resume begun" in page
    assert "No step has a time: nothing was measured" in page


def test_only_the_pages_own_style_and_script_are_allowed(suite: Path) -> None:
    for page in (suite / "swish" / "report.html", suite / "index.html"):
        text = page.read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        for name in ("style", "script"):
            found = re.findall(rf"<{name}>(.*?)</{name}>", text, flags=re.DOTALL)
            digest = hashlib.sha256(found[0].encode()).digest()
            assert len(found) == 1
            assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy[1].replace(
                "&#39;", "'"
            )
        assert not re.search(r'\s(style|on\w+)="', text)
        assert not re.search(r'(src|href)="(?!#|data:|[\w./%-]+\.html")', text)


def hostile_run(path: Path) -> Path:
    """A run in which whatever can be written by others tries to be markup."""
    spec = KernelSpec.model_validate_json((SOURCES / "swish.json").read_text())
    folder = Folder(path, spec, "emulated", HOSTILE)
    folder.start("emulated", HOSTILE)
    sources = [f"// {HOSTILE}\nint a;\n", f"// {HOSTILE}!\nint b;\n"]
    ids = [candidate_id(source, spec.id) for source in sources]
    verdict = Verdict(
        status=Status.COMPILE_ERROR,
        executor="emulated",
        evidence=Evidence(summary=HOSTILE, hints=(HOSTILE,), log=HOSTILE),
    )
    for index, source in enumerate(sources):
        step = Step(
            index=index,
            kind=StepKind.REPAIR if index else StepKind.SYNTHESIS,
            agent="repairer" if index else "synthesizer",
            intent=HOSTILE,
            expected=HOSTILE,
            reason=HOSTILE,
            candidate=ids[index],
            parent=ids[0] if index else "",
            status=Status.COMPILE_ERROR,
            decision=Decision.FAILED,
            verdict=folder.store.put_model(verdict),
        )
        folder.propose(step, source)
        folder.take(step)
    call = ModelCall(
        key="k",
        agent="repairer",
        step=1,
        attempt=0,
        prompt=folder.store.put(json.dumps([["system", HOSTILE], ["human", HOSTILE]])),
        reply=HOSTILE,
        seconds=1.0,
    )
    folder.ledger.record_call(call)
    folder.ledger.record_call(call.model_copy(update={"key": "l", "step": 2}))
    return path


def test_nothing_that_others_wrote_becomes_markup(tmp_path: Path) -> None:
    text = report_html(read_run(hostile_run(tmp_path / "run")))
    assert text.count("<script>") == 1
    assert text.count("</script>") == 1
    assert "<img" not in text
    assert "alert(1)&lt;/script&gt;" in text
    assert "{{ 7*7 }}" in text
    assert "Asked, and no step came of it" in text
    assert "No kernel yet no candidate has been verified so far" in told(text)


def test_the_folder_of_a_run_may_lack_what_the_report_would_like(tmp_path: Path) -> None:
    run = measured("swish", tmp_path / "run")
    shutil.rmtree(run / "objects")
    (run / "best.cu").unlink()
    (run / "spec.json").unlink()
    page = told(write_report(run))
    assert "The folder does not hold this source" in page
    assert "The folder does not hold its source" in page
    (run / "ledger.sqlite").unlink()
    assert "The folder does not say how the run was started" in told(write_report(run))


def test_a_table_of_runs_leads_to_each_and_back(suite: Path, tmp_path: Path) -> None:
    text = (suite / "index.html").read_text()
    links = re.findall(r'<a href="([\w./%-]+\.html)"', text)
    assert links == [f"{run}/report.html" for run in ("begun", "matmul", "rms_norm", "swish")]
    assert 'href="../index.html"' in (suite / "swish" / "report.html").read_text()
    assert "2.09x the geometric mean over PyTorch eager over the 3 of 4 runs" in told(text)
    copy = tmp_path / "runs with spaces"
    shutil.copytree(suite, copy)
    out = write_suite([copy / "swish", copy / "begun"], tmp_path / "table.html")
    assert 'href="runs%20with%20spaces/swish/report.html"' in out.read_text()


def test_specs_without_a_run_stand_in_the_table_too(suite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    shutil.copytree(suite / "begun", folder / "begun")
    lost = SuiteMember.without_result(
        "level1/9_Odd.py", folder / "9_Odd", MemberStatus.REFUSED, f"no Model in it {HOSTILE}"
    )
    result = SuiteResult.of(folder, [lost])
    (folder / "suite.json").write_text(result.model_dump_json())
    text = write_suite([folder]).read_text()
    assert "9_Odd" in told(text)
    assert "REFUSED no Model in it" in told(text)
    assert "<img" not in text


def test_the_command_line_writes_reports(suite: Path, tmp_path: Path) -> None:
    cli = CliRunner()
    out = tmp_path / "deep" / "swish.html"
    done = cli.invoke(app, ["report", "swish", "--runs-dir", str(suite), "--out", str(out)])
    assert (done.exit_code, Path(done.stdout.strip())) == (0, out.resolve())
    assert "2.42x" in told(out)
    copy = tmp_path / "runs"
    shutil.copytree(suite, copy)
    done = cli.invoke(app, ["report", str(copy), "--json"])
    assert json.loads(done.stdout) == {"path": str((copy / "index.html").resolve())}
    done = cli.invoke(app, ["report", str(tmp_path / "nowhere"), "--json"])
    assert done.exit_code == 2
    assert "cutegen runs list" in json.loads(done.stdout)["error"]
    (tmp_path / "empty").mkdir()
    assert cli.invoke(app, ["report", str(tmp_path / "empty")]).exit_code == 2


def test_pauses_between_two_sessions_of_a_run_cost_no_time() -> None:
    started = RunStarted(
        at=0.0, run_id="r", run_dir="/r", spec="s", kernel_class="generic",
        executor="emulated", model="human", arch="sm_90a",
    )  # fmt: skip
    events = [
        started,
        NodeStarted(at=1.0, node="synthesize"),
        NodeStarted(at=4.0, node="compile"),
        started.model_copy(update={"at": 900.0, "resumed": True}),
        NodeStarted(at=901.0, node="compile"),
        Finished(at=906.0, status="SUCCEEDED", reason=""),
    ]
    assert seconds_by_work(events) == {"building": 5.0, "agents": 3.0}


def test_facts_have_names_units_and_no_empty_lines() -> None:
    facts = {
        "sm_clock_mhz": 1980,
        "roofline_fraction": 0.5,
        "nothing": "",
        "kernels": [{"name": "f", "shared": 0}],
        "inside": {"memory_bytes": 2048, "ok": True},
    }
    assert fact_rows(facts) == [
        ("sm clock", "1,980 MHz"),
        ("roofline fraction", "50.0%"),
        ("kernels 1 · name", "f"),
        ("kernels 1 · shared", "0"),
        ("inside · memory", "2,048 B"),
        ("inside · ok", "yes"),
    ]


def test_the_edge_is_told_in_order_and_nothing_twice() -> None:
    selected = Selected(
        step=0, kind=StepKind.SYNTHESIS, candidate="c", decision=Decision.ACCEPTED, reason="first"
    )
    held = PredicateHeld(why="0 of at least 2 rounds")
    opened = PredicateChanged(stable=True, why="two quiet rounds")
    closed = PredicateChanged(stable=False, why="handed back")
    later = [selected.model_copy(update={"step": step}) for step in (1, 2)]
    events = [selected, held, held, later[0], opened, later[1], closed]
    told = [(moment.after, moment.state.value, moment.why) for moment in edge_of(events)]
    assert told == [
        (0, "held", "0 of at least 2 rounds"),
        (1, "opened", "two quiet rounds"),
        (2, "closed", "handed back"),
    ]
    assert [(o.first, o.last) for o in openings_of(events)] == [(2, 2)]
    assert [o.last for o in openings_of(events[:-1])] == [None]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("use `a<b` here", "use <code>a&lt;b</code> here"),
        ("one ` alone", "one ` alone"),
        ("", ""),
    ],
)
def test_code_in_a_sentence(text: str, html: str) -> None:
    assert prose(text) == html
