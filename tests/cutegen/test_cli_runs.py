"""The commands that look at finished runs, on a run that was made once."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutegen.cli import app
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget
from cutegen.spec import KernelSpec

SWISH = Path(__file__).resolve().parents[1] / "kernelbench" / "custom" / "small_swish.py"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run, one that was killed, and a folder that is no run."""
    folder = tmp_path_factory.mktemp("runs")
    run_graph(
        KernelSpec.from_kernelbench(SWISH),
        executor="emulated",
        budget=Budget(steps=0),
        runs_dir=folder,
        run_id="swish",
    )
    shutil.copytree(folder / "swish", folder / "killed")
    (folder / "killed" / "result.json").unlink()
    (folder / "notes").mkdir()
    return folder


def call(*arguments: str | Path) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return outcome.exit_code, outcome.stdout


def test_runs_are_listed_newest_first_with_their_state(runs: Path) -> None:
    code, text = call("runs", "list", "--runs-dir", runs, "--json")
    listed = {run["run_id"]: run for run in json.loads(text)["runs"]}
    assert code == 0
    assert listed["swish"]["state"] == "SUCCEEDED"
    assert listed["swish"]["spec_name"] == "small_swish"
    assert listed["killed"]["state"] == "UNFINISHED"
    assert set(listed) == {"swish", "killed"}


@pytest.fixture(scope="module")
def pair(runs: Path) -> Path:
    """A suite of a good spec and a file that is none, by the command line."""
    (runs / "notes" / "empty.py").write_text("import torch\n")
    options = ("--executor", "emulated", "--steps", "0", "--runs-dir", runs, "--run-id", "pair")
    code, text = call("run", SWISH, runs / "notes", *options, "--json")
    answer = json.loads(text)
    assert (code, answer["counts"]) == (1, {"SUCCEEDED": 1, "REFUSED": 1})
    assert answer["geomean_speedup"] is None
    assert list(answer["unmeasured"]) == ["small_swish", "empty"]
    return runs / "pair"


def test_a_suite_is_shown_listed_and_taken_up(runs: Path, pair: Path) -> None:
    code, text = call("runs", "show", "pair", "--runs-dir", runs)
    assert code == 0
    assert "2 specs: 1 SUCCEEDED, 1 REFUSED; 1 verified" in text
    assert "nothing was measured" in text
    _, text = call("runs", "list", "--runs-dir", runs, "--json")
    assert "pair/small_swish" in {run["run_id"] for run in json.loads(text)["runs"]}
    code, text = call("runs", "show", "pair/small_swish", "--runs-dir", runs, "--json")
    assert json.loads(text)["status"] == "SUCCEEDED"

    code, text = call("resume", pair, "--steps", "3", "--json")
    assert code == 2
    assert "is a suite" in json.loads(text)["error"]
    (runs / "notes" / "empty.py").write_text(SWISH.read_text())
    code, text = call("resume", pair, "--json")
    assert (code, json.loads(text)["counts"]) == (0, {"SUCCEEDED": 2})


def test_a_run_of_another_version_hides_no_other(runs: Path, tmp_path: Path) -> None:
    copied = tmp_path / "runs"
    shutil.copytree(runs, copied)
    old = copied / "swish" / "result.json"
    old.write_text(old.read_text().replace('"status"', '"ending"', 1))
    code, text = call("runs", "list", "--runs-dir", copied, "--json")
    states = {run["run_id"]: run["state"] for run in json.loads(text)["runs"]}
    assert (code, states["swish"], states["killed"]) == (0, "UNREADABLE", "UNFINISHED")
    code, text = call("runs", "show", "swish", "--runs-dir", copied, "--json")
    assert code == 2
    assert "written by another version" in json.loads(text)["error"]


def test_what_cannot_be_done_with_many_specs(tmp_path: Path) -> None:
    folder = SWISH.parent
    code, text = call("run", folder, "--record", tmp_path / "r.jsonl", "--json")
    assert code == 2
    assert "name one spec" in json.loads(text)["error"]
    code, text = call("suite", tmp_path / "*.py", "--json")
    assert code == 2
    assert "no KernelBench-format file" in json.loads(text)["error"]


def test_a_run_is_shown_by_name(runs: Path) -> None:
    code, text = call("runs", "show", "swish", "--runs-dir", runs)
    assert code == 0
    assert "SUCCEEDED" in text
    code, _ = call("runs", "show", "unknown", "--runs-dir", runs)
    assert code == 2


def test_pruning_says_what_it_would_do_first(runs: Path, tmp_path: Path) -> None:
    copied = tmp_path / "runs"
    shutil.copytree(runs, copied)
    code, text = call("runs", "prune", "unfinished", "--runs-dir", copied, "--json")
    assert (code, json.loads(text)) == (0, {"deleted": False, "runs": ["killed"]})
    assert (copied / "killed").exists()
    call("runs", "prune", "unfinished", "--runs-dir", copied, "--yes")
    assert not (copied / "killed").exists()
    assert (copied / "swish" / "result.json").exists()


def test_the_winner_is_exported(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "bench"
    code, text = call(
        "export", "swish", "--runs-dir", runs, "--to", target, "--as", "kernelbench", "--json"
    )
    assert code == 0, text
    written = Path(json.loads(text)["path"])
    assert "class ModelNew(Model):" in written.read_text()
    code, _ = call("export", "swish", "--runs-dir", runs, "--to", target, "--as", "source")
    assert code == 2  # the folder is taken
    code, _ = call("export", "killed", "--runs-dir", runs, "--to", tmp_path / "x")
    assert code == 2  # nothing to ship yet
