"""Self-tests of the clock and of the verdict, on a GPU."""

import pytest
import torch

from cutegen.execution.cuda import CudaExecutor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob, RaceJob
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.spec import KernelSpec
from cutegen.status import Status

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]

KERNEL = """
#include "cutegen_args.h"
constexpr int kThreads = 256;
__global__ void f(float4 const* x, float4* out, int64_t vectors) {
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= vectors) return;
  float4 v = x[i];
  BODY
  out[i] = v;
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t vectors = 1;
  for (int64_t extent : a->x_shape) vectors *= extent;
  if (vectors % 4) return scalar(a, vectors);
  vectors /= 4;
  LAUNCH
  return cudaGetLastError();
}
"""
SCALAR = """
__global__ void g(float const* x, float* out, int64_t n) {
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) out[i] = x[i] > 0.f ? x[i] : 0.f;
}
static cudaError_t scalar(CutegenArgs const* a, int64_t n) {
  g<<<(n + kThreads - 1) / kThreads, kThreads, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
"""
RELU_BODY = "v = make_float4(fmaxf(v.x, 0.f), fmaxf(v.y, 0.f), fmaxf(v.z, 0.f), fmaxf(v.w, 0.f));"
LAUNCH = """f<<<(vectors + kThreads - 1) / kThreads, kThreads, 0, a->stream>>>(
      reinterpret_cast<float4 const*>(a->x), reinterpret_cast<float4*>(a->out), vectors);"""
ELSEWHERE = LAUNCH.replace("a->stream", "other") + "\n  cudaStreamQuery(other);"


def kernel(body: str = RELU_BODY, launch: str = LAUNCH) -> str:
    source = KERNEL.replace("BODY", body).replace("LAUNCH", launch)
    return source.replace('extern "C"', SCALAR + '\nextern "C"')


def rectified(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


@pytest.fixture(scope="module")
def executor() -> CudaExecutor:
    return CudaExecutor()


@pytest.fixture(scope="module")
def relu() -> KernelSpec:
    return KernelSpec.from_callable(rectified, (torch.randn(16384, 16384),))


def measure(executor: CudaExecutor, spec: KernelSpec, source: str) -> Measurement:
    return executor.measure(MeasurementJob(spec=spec, source=source))


def test_a_right_relu_passes_and_a_wrong_one_does_not(
    executor: CudaExecutor, relu: KernelSpec
) -> None:
    right = executor.evaluate(EvaluationJob(spec=relu, source=kernel()))
    assert right.status is Status.PASSED, right.evidence
    wrong = executor.evaluate(EvaluationJob(spec=relu, source=kernel(body="v.w += 1e-2f;")))
    assert wrong.status is Status.WRONG_VALUES, wrong.evidence


def test_known_bytes_run_close_to_copy_bandwidth(executor: CudaExecutor, relu: KernelSpec) -> None:
    found = measure(executor, relu, kernel())
    assert found.state is MeasurementState.MEASURED, found.reason
    assert 0.85 < found.roofline.fraction < 1.05
    assert 0.85 < found.speedup < 1.2  # PyTorch's own ReLU is at the limit, too
    assert found.environment["gpu"]
    assert len(found.candidate.samples_us) >= 50


def test_variants_are_raced_in_one_session(executor: CudaExecutor, relu: KernelSpec) -> None:
    sources = (kernel(), kernel(launch=f"{LAUNCH}\n  {LAUNCH}"))
    found = executor.race(RaceJob(spec=relu, sources=sources))
    assert not found.reason
    once, twice = (timing.median_us for timing in found.timings)
    assert 1.8 < twice / once < 2.2
    assert executor.race(RaceJob(spec=relu, sources=(kernel(), "no kernel"))).reason


def test_a_tiny_kernel_takes_a_few_microseconds(executor: CudaExecutor) -> None:
    spec = KernelSpec.from_callable(rectified, (torch.randn(8, 32),))
    found = measure(executor, spec, kernel())
    assert found.state is MeasurementState.MEASURED, found.reason
    assert 0.5 < found.candidate.median_us < 15


def test_a_kernel_that_does_nothing_is_too_fast_to_be_true(
    executor: CudaExecutor, relu: KernelSpec
) -> None:
    found = measure(executor, relu, kernel(launch=""))
    assert found.state is MeasurementState.REFUSED
    assert "too fast to be true" in found.reason


def test_work_on_another_stream_is_refused(executor: CudaExecutor, relu: KernelSpec) -> None:
    created = (
        "static cudaStream_t other = nullptr;\n"
        "  if (!other) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);\n  "
    )
    found = measure(executor, relu, kernel(launch=created + ELSEWHERE))
    assert found.state is MeasurementState.REFUSED


def test_half_the_work_is_refused_or_found_out(executor: CudaExecutor, relu: KernelSpec) -> None:
    half = LAUNCH.replace("(vectors + kThreads - 1) / kThreads", "(vectors / 2) / kThreads")
    found = measure(executor, relu, kernel(launch=half))
    assert found.state is MeasurementState.REFUSED
