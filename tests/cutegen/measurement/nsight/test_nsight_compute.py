"""Running a profiler: what its refusals come to. Programs of this machine stand in its place."""

from pathlib import Path

import pytest
import torch

from cutegen.measurement.nsight.command import Access, counter_access, failure, run
from cutegen.measurement.nsight.profiler import NsightCompute
from cutegen.measurement.profile import Bottleneck
from cutegen.measurement.static import StaticProfiler
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.discovery import ToolNotFoundError, find_ncu
from cutegen.toolchain.protocol import BuildResult

FORBIDDEN = (
    "==PROF== Connected to process 4711\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0.\n"
)


@pytest.mark.parametrize(
    ("status", "log", "access", "words"),
    [
        (1, FORBIDDEN, Access.FORBIDDEN, "only the administrator"),
        (None, "==PROF== Profiling", Access.TIMEOUT, "within 60 s"),
        (0, "==WARNING== No kernels were profiled.", Access.NO_KERNEL, "no kernel"),
        (1, "==ERROR== LibraryNotLoaded\n==ERROR== LibraryNotLoaded\n", Access.FAILED, "LibraryNo"),
        (9, "", Access.FAILED, "status 9"),
    ],
)
def test_a_refusal_is_typed_and_explained(
    status: int | None, log: str, access: Access, words: str
) -> None:
    counted = failure(status, log, 60)
    assert (counted.access, counted.kernels) == (access, ())
    assert words in counted.reason
    assert counted.reason.count("LibraryNotLoaded") <= 1
    if access is Access.FORBIDDEN:
        assert "NVreg_RestrictProfilingToAdminUsers=0" in counted.advice


def test_a_command_ends_in_time_with_all_it_started(tmp_path: Path) -> None:
    status, log = run(("/bin/sh", "-c", "echo begun; sleep 60 & sleep 60"), tmp_path, 0.3)
    assert (status, log) == (None, "begun\n")


def test_the_probe_tells_a_program_that_counts_nothing(tmp_path: Path) -> None:
    program = tmp_path / "ncu"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{FORBIDDEN}'\nexit 1\n")
    program.chmod(0o755)
    assert counter_access(program).access is Access.FORBIDDEN


def test_without_nsight_compute_the_static_profile_says_why() -> None:
    with pytest.raises(ToolNotFoundError):
        find_ncu("/nowhere/ncu")
    spec = KernelSpec.from_callable(torch.nn.functional.silu, [torch.randn(64, 64)])
    profiler = NsightCompute(StaticProfiler("sm_90a"), ncu="/nowhere/ncu")
    profile = profiler.profile(
        spec,
        "",
        BuildResult(status=Status.PASSED, toolchain="nvcc"),
        Measurement(state=MeasurementState.UNMEASURED),
    )
    assert (profile.source, profile.bottleneck) == ("static", Bottleneck.UNKNOWN)
    assert "no counters were read: Nsight Compute (ncu) was not found" in profile.unknown
