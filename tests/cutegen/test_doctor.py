"""The doctor on this machine, and on this machine with parts taken away."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import json
import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from cutegen.cli import app
from cutegen.doctor import Examination, Finding, Health, examine

PARTS = ["python", "torch", "g++", "CUTLASS", "nvcc", "driver", "GPU", "NVML"]
PARTS += ["cache", "sandbox", "sanitizer", "cuobjdump", "ncu"]


def finding(examination: Examination, part: str) -> Finding:
    return next(found for found in examination.findings if found.part == part)


def test_every_part_is_looked_at_and_faults_come_with_advice() -> None:
    examination = examine()
    assert [found.part for found in examination.findings] == PARTS
    for found in examination.findings:
        assert found.detail
        assert bool(found.advice) == (found.health is not Health.OK)
    assert torch.__version__ in finding(examination, "torch").detail


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_compiler_is_enough_for_the_emulator() -> None:
    assert "emulated" in examine().executors


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_no_cuda() -> None:
    examination = examine()
    assert finding(examination, "GPU").health is Health.DEGRADED
    assert "cuda" not in examination.executors


def test_without_a_host_compiler_nothing_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    examination = examine()
    found = finding(examination, "g++")
    assert found.health is Health.DEGRADED
    assert "install g++" in found.advice
    assert "emulated" not in examination.executors
    assert finding(examination, "ncu").health is Health.DEGRADED


def test_without_cutlass_nothing_can_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTEGEN_CUTLASS", str(tmp_path))
    examination = examine()
    assert finding(examination, "CUTLASS").health is Health.MISSING
    assert examination.executors == ()


def test_a_cache_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CUTEGEN_CACHE", str(tmp_path / "file" / "cache"))
    examination = examine()
    assert finding(examination, "cache").health is Health.MISSING
    assert "CUTEGEN_CACHE" in finding(examination, "cache").advice
    assert examination.executors == ()


def test_the_program_answers_with_one_object() -> None:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    examination = Examination.model_validate(json.loads(result.stdout))
    assert [found.part for found in examination.findings] == [*PARTS, "model"]
    assert result.exit_code == (0 if examination.executors else 3)


def test_a_machine_that_can_do_nothing_is_told_so(tmp_path: Path) -> None:
    environment = {"CUTEGEN_CUTLASS": str(tmp_path), "COLUMNS": "200", "FORCE_COLOR": None}
    result = CliRunner().invoke(app, ["doctor"], env=environment)
    assert result.exit_code == 3
    assert "missing" in result.stdout
    assert "give the root of a CUTLASS checkout" in result.stdout
    assert "executors that can judge a kernel here: none" in result.stdout
