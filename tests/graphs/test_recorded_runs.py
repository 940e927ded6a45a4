"""Runs that somebody drove as the model are replayed, prompt by prompt."""

import shutil
from pathlib import Path

import pytest
from recorded_runs import FOLDER, NAMES, play

from cutegen.result import RunStatus


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_replays(name: str, tmp_path: Path) -> None:
    result = play(name, tmp_path, FOLDER / f"{name}.jsonl")
    assert result.status is RunStatus.SUCCEEDED, result.reason
    assert result.best is not None
    calls = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").count("\n")
    assert result.model_calls == calls
