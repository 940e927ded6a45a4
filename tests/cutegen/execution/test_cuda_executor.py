"""The CUDA executor on a GPU: the same verdicts as on the emulator, and times."""

import pytest
import torch

from cutegen.execution import CudaExecutor, load_callable
from cutegen.execution.cudart import CudaRuntime
from cutegen.execution.memory import CudaArena, find_cudart
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.measurement.timing import MeasurementState
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.ladder import verify

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]

RELU = """
#include "cutegen_args.h"
__global__ void relu(float const* x, float* out, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = x[i] > 0 ? x[i] : 0.f;
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  relu<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
"""


def _relu(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_callable(_relu, [torch.randn(2048, 4099)], name="relu")


@pytest.fixture(scope="module")
def executor() -> CudaExecutor:
    return CudaExecutor()


def test_a_right_kernel_passes_at_the_timed_shape_too(
    executor: CudaExecutor, spec: KernelSpec
) -> None:
    verdict = executor.evaluate(EvaluationJob(spec=spec, source=RELU))
    assert verdict.passed, verdict.evidence
    assert verdict.evidence.facts["timed_case_run"] is True
    assert verdict.evidence.facts["memory"] in {"ipc", "copied"}


@pytest.mark.parametrize(
    ("change", "status", "phrase"),
    [
        (("if (i < n)", "if (i < n / 256 * 256)"), Status.WRONG_VALUES, "never written"),
        (("if (i < n)", "if (i < n + 5)"), Status.OUT_OF_BOUNDS, "past the end of out"),
        (("if (i < n)", "if (i < 0)"), Status.DID_NOT_RUN, "no output element"),
        (("out[i] =", "out[i + (1ll << 40)] ="), Status.OUT_OF_BOUNDS, "cudaErrorIllegalAddress"),
        (("256, 0,", "2048, 0,"), Status.LAUNCH_ERROR, "cudaErrorInvalid"),
        (
            ("out[i] = x[i]", "while (*(volatile float*)x < 1e30f) {} out[i] = x[i]"),
            Status.TIMEOUT,
            "within 5 s",
        ),
        (("return cudaGetLastError()", "return cudaErrorNotSupported"), Status.LAUNCH_ERROR, "801"),
        (
            ("if (i < n)", "if (i < n) const_cast<float*>(x)[i] = 1; if (i < n)"),
            Status.CHEAT,
            "inputs: x",
        ),
        (("out[i] = ", "__trap(); out[i] = "), Status.LAUNCH_ERROR, "a kernel failed"),
    ],
)
def test_a_mistake_breaks_its_rung(
    executor: CudaExecutor, spec: KernelSpec, change: tuple[str, str], status: Status, phrase: str
) -> None:
    old, new = change
    assert old in RELU
    verdict = executor.evaluate(
        EvaluationJob(spec=spec, source=RELU.replace(old, new), timeout_s=5)
    )
    assert verdict.status is status, verdict.evidence
    assert phrase in verdict.evidence.summary, verdict.evidence.summary


def test_the_device_survives_a_faulty_candidate(executor: CudaExecutor, spec: KernelSpec) -> None:
    faulty = RELU.replace("out[i] =", "out[i + (1ll << 40)] =")
    assert not executor.evaluate(EvaluationJob(spec=spec, source=faulty)).passed
    assert executor.evaluate(EvaluationJob(spec=spec, source=RELU)).passed


def test_it_works_where_ipc_is_refused(executor: CudaExecutor, spec: KernelSpec) -> None:
    build = executor.build(spec, RELU)
    assert build.library is not None
    cudart = find_cudart()
    arena = CudaArena(CudaRuntime(cudart, 0), arena_bytes((*spec.checks, spec.timed)))
    arena.use_mirror()
    with WorkerSession(spec, build.library, arena, timeout_s=60, cudart=cudart) as session:
        verdict = verify(spec, session)
    assert verdict.passed, verdict.evidence
    assert verdict.evidence.facts["memory"] == "copied"


def test_candidate_incumbent_and_eager_are_timed(executor: CudaExecutor, spec: KernelSpec) -> None:
    slower = RELU.replace("out[i] =", "for (int k = 0; k < 64; ++k) __nanosleep(1000); out[i] =")
    measured = executor.measure(MeasurementJob(spec=spec, source=RELU, incumbent=slower))
    assert measured.state is MeasurementState.MEASURED, measured.reason
    assert measured.candidate is not None
    assert measured.incumbent is not None
    assert len(measured.candidate.samples_us) >= 50
    assert measured.candidate.median_us < measured.incumbent.median_us
    assert measured.speedup is not None
    assert 0.2 < measured.speedup < 5


def test_work_on_another_stream_is_not_believed(executor: CudaExecutor, spec: KernelSpec) -> None:
    source = RELU.replace(
        "  relu<<<(n + 255) / 256, 256, 0, a->stream>>>",
        "  static cudaStream_t side = nullptr;\n"
        "  if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);\n"
        "  relu<<<(n + 255) / 256, 256, 0, side>>>",
    ).replace("out[i] =", "for (int k = 0; k < 64; ++k) __nanosleep(1000); out[i] =")
    measured = executor.measure(MeasurementJob(spec=spec, source=source))
    assert measured.state is MeasurementState.REFUSED


def test_the_winner_can_be_called(executor: CudaExecutor, spec: KernelSpec) -> None:
    build = executor.build(spec, RELU)
    assert build.library is not None
    kernel = load_callable(spec, build.library, "cuda")
    x = torch.randn(129, 333, device="cuda")
    out = kernel(x)
    assert isinstance(out, torch.Tensor)
    assert torch.equal(out, torch.relu(x))
