"""compute-sanitizer's reports, as its manual prints them, become findings with lines."""

import json
import stat
from pathlib import Path

import pytest
import torch

from cutegen.execution.sanitized import tools_for, with_report, would_be_taken
from cutegen.execution.sanitizer_log import parse_sanitizer, refusal_of_tool
from cutegen.execution.sanitizers import SanitizerReport, Sanitizing
from cutegen.kernel import args_structure
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.discovery import ToolNotFoundError, find_sanitizer

MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at relu(const float *, float *, long)+0x90 in /cache/nvcc/ab/candidate.cu:5
=========     by thread (5,0,0) in block (1,0,0)
=========     Address 0x710fdc800404 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x710fdc800000 of size 1,024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0xae66] in python
=========
========= Invalid __global__ write of size 4 bytes
=========     at relu(const float *, float *, long)+0x90 in /cache/nvcc/ab/candidate.cu:5
=========     by thread (6,0,0) in block (1,0,0)
=========     Address 0x710fdc800408 is out of bounds
=========
========= Invalid __global__ read of size 16 bytes
=========     at cute::copy_unpack()+0x50 in /cutlass/include/cute/arch/copy.hpp:80
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c00001 is misaligned
=========         Device Frame: relu(const float *, float *, long)+0x30 in candidate.cu:12
=========
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at warm()+0xf0 in candidate.cu:3
=========     and Read access at warm()+0x280 in candidate.cu:4 [4 hazards]
=========
========= Error: Race reported between Write access at sum(int *, int *)+0x90 in candidate.cu:9
=========     and Read access at sum(int *, int *)+0x100 in candidate.cu:11 [508 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
SYNCCHECK = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp
=========     at ThreadDivergence(int *, int)+0xf0 in candidate.cu:79
=========     by thread (37,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
INITCHECK = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vectorAdd(int *)+0x70 in candidate.cu:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
========= ERROR SUMMARY: 1 error
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


@pytest.mark.parametrize(
    ("tool", "log", "found"),
    [
        ("memcheck", MEMCHECK, [(Status.OUT_OF_BOUNDS, 5), (Status.MISALIGNED, 12)]),
        ("racecheck", RACECHECK, [(Status.RACE, 9)]),
        ("synccheck", SYNCCHECK, [(Status.DIVERGENCE, 79)]),
        ("initcheck", INITCHECK, [(Status.UNINITIALIZED, 41)]),
        ("memcheck", CLEAN, []),
        ("memcheck", "", []),
    ],
)
def test_a_report_becomes_findings(tool: str, log: str, found: list[tuple[Status, int]]) -> None:
    assert [(f.status, f.line) for f in parse_sanitizer(tool, log)] == found


def test_a_finding_says_what_where_and_by_whom() -> None:
    (first, _) = parse_sanitizer("memcheck", MEMCHECK)
    assert first.summary == "Invalid __global__ write of size 4 bytes"
    assert first.kernel.startswith("relu(")
    assert "thread (5,0,0)" in first.details[1]


def test_a_tool_that_refuses_the_device_is_no_finding() -> None:
    log = "========= COMPUTE-SANITIZER\n========= Error: Device not supported\n"
    assert parse_sanitizer("memcheck", log) == ()
    assert "Device not supported" in refusal_of_tool(log)


def test_a_finding_refuses_the_measurement_with_the_kernels_own_status() -> None:
    timing = Timing(samples_us=(10.0, 11.0, 12.0))
    measured = Measurement(state=MeasurementState.MEASURED, candidate=timing)
    source = "\n".join(f"line number {number}" for number in range(1, 20))
    findings = parse_sanitizer("racecheck", RACECHECK)
    refused = with_report(measured, SanitizerReport(findings=findings, ran=("racecheck",)), source)
    assert refused.state is MeasurementState.REFUSED
    assert refused.verdict is not None
    assert refused.verdict.status is Status.RACE
    assert "line 9" in refused.reason
    assert refused.verdict.evidence.diagnostics[0].source_line == "line number 9"
    clean = with_report(measured, SanitizerReport(ran=("racecheck",)), source)
    assert clean.state is MeasurementState.MEASURED
    assert clean.environment["sanitizers"]["ran"] == ["racecheck"]  # type: ignore[index, call-overload]
    assert Measurement.model_validate_json(refused.model_dump_json()) == refused


def test_only_what_would_be_taken_is_examined() -> None:
    fast, slow = Timing(samples_us=(10.0,) * 3), Timing(samples_us=(20.0,) * 3)
    measured = MeasurementState.MEASURED
    assert would_be_taken(Measurement(state=measured, candidate=fast))
    assert would_be_taken(Measurement(state=measured, candidate=fast, incumbent=slow))
    assert not would_be_taken(Measurement(state=measured, candidate=slow, incumbent=fast))
    assert not would_be_taken(Measurement(state=MeasurementState.REFUSED, candidate=fast))


def test_racecheck_is_left_out_where_it_sees_too_little() -> None:
    assert "racecheck" in tools_for("__global__ void plain() { __syncthreads(); }")
    assert "racecheck" not in tools_for("cute::SM90_TMA_LOAD{}")


def sanitizer(folder: Path, script: str) -> Path:
    path = folder / "compute-sanitizer"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_callable(torch.relu, [torch.randn(8, 9)], name="relu")


def test_every_tool_gets_the_job_and_its_log_is_read(spec: KernelSpec, tmp_path: Path) -> None:
    """The stand-in does what the program does with its arguments: it writes ``--log-file``."""
    script = f"""
tool=$2
while [ "$1" != --log-file ]; do shift; done
log=$2
for last; do job=$previous; previous=$last; done
cp "$job" {tmp_path}/job-$tool.json
cp "$(dirname "$job")/0.bin" {tmp_path}/x.bin
[ $tool = synccheck ] && sleep 60
[ $tool = initcheck ] && exit
echo '========= COMPUTE-SANITIZER' > "$log"
[ $tool = racecheck ] && cat {tmp_path}/racecheck.log >> "$log"
exit 0
"""
    (tmp_path / "racecheck.log").write_text(RACECHECK, encoding="utf-8")
    x = torch.randn(8, 9)
    with Sanitizing(
        sanitizer(tmp_path, script),
        spec,
        spec.timed,
        {"x": x},
        tmp_path / "candidate.so",
        cudart="/libcudart.so",
        timeout_s=5.0,
    ) as running:
        report = running.finish()
    assert report.ran == ("memcheck", "racecheck")
    assert [finding.status for finding in report.findings] == [Status.RACE]
    assert "in time" in report.skipped["synccheck"]
    assert "no report" in report.skipped["initcheck"]
    job = json.loads((tmp_path / "job-memcheck.json").read_text(encoding="utf-8"))
    structure = args_structure(spec)
    assert [t["offset"] for t in job["tensors"]] == [structure.x.offset, structure.out.offset]
    assert [t["nbytes"] for t in job["tensors"]] == [288, 288]
    assert (tmp_path / "x.bin").read_bytes() == x.numpy().tobytes()
    assert job["library"] == str(tmp_path / "candidate.so")


def test_it_is_found_or_advice_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sanitizer(tmp_path, "echo 'Version 2026.4.0.0 (build 1)'")
    assert find_sanitizer(path).version == "2026.4.0.0"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("cutegen.toolchain.discovery._wheel_roots", list)
    with pytest.raises(ToolNotFoundError, match="nvidia-cuda-sanitizer-api"):
        find_sanitizer()
