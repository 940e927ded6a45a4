"""Executors end to end: from a source to a verdict."""

from typing import NamedTuple

import pytest
import torch

from cutegen.execution import EmulatedExecutor, EnvironmentUnfitError, resolve_executor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.measurement.timing import MeasurementState
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain

RIGHT = """
#include "cutegen_args.h"
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  for (int64_t i = 0; i < a->x_shape[0] * a->x_shape[1]; ++i) a->out[i] = a->x[i] * a->x[i];
  return cudaSuccess;
}
"""


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_callable(torch.square, [torch.randn(40, 70)], name="square")


def test_a_right_candidate_passes(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    executor = EmulatedExecutor(host_toolchain)
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=RIGHT))
    assert verdict.passed, verdict.evidence
    assert verdict.seconds > 0


def test_the_same_seed_gives_the_same_evidence(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    executor = EmulatedExecutor(host_toolchain)
    first, again, other = (
        executor.evaluate(EvaluationJob(spec=spec, source=RIGHT, seed=seed)) for seed in (1, 1, 2)
    )
    assert first.evidence == again.evidence
    assert first.evidence != other.evidence


def test_a_compile_error_is_a_verdict(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    source = RIGHT.replace("a->x[i] *", "a->y[i] *")
    verdict = EmulatedExecutor(host_toolchain).evaluate(EvaluationJob(spec=spec, source=source))
    assert verdict.status is Status.COMPILE_ERROR
    assert "y" in verdict.evidence.summary
    assert verdict.evidence.diagnostics
    assert verdict.evidence.log


class _Unfit:
    """A toolchain on a machine that lacks its compiler: what such a toolchain answers."""

    name = "unfit"

    def build(self, request: BuildRequest) -> BuildResult:
        del request
        return BuildResult(
            status=Status.ENVIRONMENT, toolchain=self.name, advice="install the compiler"
        )


def test_an_unfit_machine_is_not_the_candidates_fault(spec: KernelSpec) -> None:
    verdict = EmulatedExecutor(_Unfit()).evaluate(EvaluationJob(spec=spec, source=RIGHT))
    assert verdict.status is Status.ENVIRONMENT
    assert not verdict.status.is_candidates_fault
    assert "install the compiler" in verdict.evidence.summary


def test_the_emulator_never_reports_a_time(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    measured = EmulatedExecutor(host_toolchain).measure(MeasurementJob(spec=spec, source=RIGHT))
    assert measured.state is MeasurementState.UNMEASURED
    assert "GPU" in measured.reason
    assert measured.speedup is None


def test_large_timed_cases_are_left_to_the_gpu(host_toolchain: Toolchain) -> None:
    spec = KernelSpec.from_callable(torch.square, [torch.randn(520, 1030)], name="large")
    verdict = EmulatedExecutor(host_toolchain).evaluate(EvaluationJob(spec=spec, source=RIGHT))
    assert verdict.passed
    assert verdict.evidence.facts["timed_case_run"] is False
    assert "not run here" in verdict.evidence.summary


def test_unknown_executors_are_refused() -> None:
    with pytest.raises(ValueError, match="auto, cuda, emulated"):
        resolve_executor("tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_cuda_without_a_gpu_gives_advice() -> None:
    with pytest.raises(EnvironmentUnfitError, match="--executor emulated"):
        resolve_executor("cuda")
    assert resolve_executor("auto").name == "emulated"


CUDA_SQUARE = """
#include "cutegen_args.h"
__global__ void square(float const* x, float* out, int64_t n) {
  __shared__ float tile[128];
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  int across = threadIdx.x ^ 127;  // every thread computes what another one loaded
  int64_t j = i - threadIdx.x + across;
  if (i < n) tile[threadIdx.x] = x[i];
  __syncthreads();
  if (j < n) out[j] = tile[across] * tile[across];
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  square<<<(n + 127) / 128, 128, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
"""


@pytest.fixture(scope="module")
def emulated() -> EmulatedExecutor:
    try:
        find_gxx()
        find_cutlass()
    except ToolNotFoundError as error:
        pytest.skip(str(error))
    return EmulatedExecutor()


def test_a_cuda_kernel_runs_on_the_emulator(emulated: EmulatedExecutor, spec: KernelSpec) -> None:
    verdict = emulated.evaluate(EvaluationJob(spec=spec, source=CUDA_SQUARE))
    assert verdict.passed, verdict.evidence


class Fault(NamedTuple):
    """A fault put into CUDA_SQUARE, and what must be said of it; `at` is in the line it names."""

    old: str
    new: str
    status: Status
    said: str
    at: str


FAULTS = {
    "a barrier is missing": Fault(
        "  __syncthreads();\n", "", Status.RACE, "and nothing orders the two", "tile["
    ),
    "reads past the end, and drops it": Fault(
        "if (i < n) tile[threadIdx.x] = x[i];",
        "float y = x[i]; tile[threadIdx.x] = i < n ? y : 0.f;",
        Status.OUT_OF_BOUNDS,
        "reads 4 bytes, 0 bytes past the end of x (",
        "y = x[i]",
    ),
    "reads far away": Fault(
        "if (i < n) tile[threadIdx.x] = x[i];",
        "if (i < n) tile[threadIdx.x] = x[i + 2147483647];",
        Status.OUT_OF_BOUNDS,
        "bytes past the end of",
        "2147483647",
    ),
    "writes past shared memory": Fault(
        "tile[128]", "tile[96]", Status.OUT_OF_BOUNDS, "a shared array of 384 bytes", "tile[threa"
    ),
    "uses shared memory that nobody wrote": Fault(
        "if (i < n) tile[threadIdx.x] = x[i];",
        "if (i < n && threadIdx.x != 5) tile[threadIdx.x] = x[i];",
        Status.UNINITIALIZED,
        "that nobody has written",
        "tile[across]",
    ),
    "a vector access on a row of odd length": Fault(
        "  int64_t j =",
        "  if (i == 0) *(float2*)(out + 1) = make_float2(0, 0);\n  int64_t j =",
        Status.MISALIGNED,
        "a multiple of 4 bytes only, not of 8",
        "float2",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_status_and_its_line(
    emulated: EmulatedExecutor, spec: KernelSpec, name: str
) -> None:
    fault = FAULTS[name]
    source = CUDA_SQUARE.replace(fault.old, fault.new)
    assert source != CUDA_SQUARE
    verdict = emulated.evaluate(EvaluationJob(spec=spec, source=source))
    assert verdict.status is fault.status, verdict.evidence
    assert fault.said in verdict.evidence.summary
    assert "thread (" in verdict.evidence.summary
    assert "of block (" in verdict.evidence.summary
    lines = verdict.evidence.facts["lines"]
    assert isinstance(lines, list)
    assert fault.at in source.splitlines()[int(str(lines[0])) - 1]
    again = emulated.evaluate(EvaluationJob(spec=spec, source=source))
    assert again.evidence.summary == verdict.evidence.summary


def test_a_deadlock_that_the_launch_hides_is_found(
    emulated: EmulatedExecutor, spec: KernelSpec
) -> None:
    source = CUDA_SQUARE.replace(
        "  __syncthreads();\n",
        "  if (threadIdx.x % 2) __syncthreads(); else __syncwarp(0xffffffffu);\n",
    ).replace("return cudaGetLastError()", "return cudaSuccess")
    verdict = emulated.evaluate(EvaluationJob(spec=spec, source=source))
    assert verdict.status is Status.DIVERGENCE, verdict.evidence
    lines = source.splitlines()
    assert "64 wait at line 9 in __syncwarp" in verdict.evidence.hints[0]
    assert "64 wait at line 9 in __syncthreads" in verdict.evidence.hints[1]
    assert all("__sync" in lines[n - 1] for n in verdict.evidence.facts["lines"])


def test_work_of_the_host_is_no_kernel(emulated: EmulatedExecutor, spec: KernelSpec) -> None:
    source = """
#include "cutegen_args.h"
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  for (int64_t i = 0; i < a->x_shape[0] * a->x_shape[1]; ++i) a->out[i] = a->x[i] * a->x[i];
  return cudaSuccess;
}
"""
    verdict = emulated.evaluate(EvaluationJob(spec=spec, source=source))
    assert verdict.status is Status.DID_NOT_RUN, verdict.evidence
