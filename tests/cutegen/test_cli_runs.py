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
