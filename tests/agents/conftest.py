"""A small spec, the requests made of it, and a server that speaks the OpenAI chat API."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen.agents.models.replay import ReplayChat
from cutegen.agents.request import Cause, RepairRequest, StructuralRequest, SynthesisRequest
from cutegen.kernel import args_header
from cutegen.reference import Reference
from cutegen.spec import Case, DType, KernelClass, KernelSpec, MathMode, TensorArg
from cutegen.status import Status
from cutegen.structure import fingerprint
from cutegen.verification.verdict import Evidence, Verdict

SOURCE = """\
#include "cutegen_args.h"

__global__ void twice(float4 const* x, float4* out, int64_t n) {
  int64_t const i = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i <= n) {
    float4 const v = x[i];
    out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t const n = a->x_shape[0] / 4;
  twice<<<(n + 255) / 256, 256, 0, a->stream>>>((float4 const*)a->x, (float4*)a->out, n);
  return cudaGetLastError();
}
"""


@pytest.fixture
def source() -> str:
    return SOURCE


@pytest.fixture
def spec() -> KernelSpec:
    timed = Case(
        name="timed",
        tensors=(
            TensorArg(name="x", role="input", dtype=DType.FLOAT32, shape=(4096,)),
            TensorArg(name="out", role="output", dtype=DType.FLOAT32, shape=(4096,)),
        ),
    )
    return KernelSpec(
        name="twice",
        reference=Reference(kind="source", text=""),
        arguments=timed.of("input"),
        timed=timed,
        checks=(timed,),
        kernel_class=KernelClass.ACTIVATION,
        math_mode=MathMode.FP32,
        trace=(),
    )


@pytest.fixture
def synthesis(spec: KernelSpec) -> SynthesisRequest:
    return SynthesisRequest(spec=spec, header=args_header(spec), arch="sm_90a")


@pytest.fixture
def structural(spec: KernelSpec) -> StructuralRequest:
    return StructuralRequest(
        spec=spec,
        header=args_header(spec),
        arch="sm_90a",
        source=SOURCE,
        fingerprint=fingerprint(SOURCE),
    )


@pytest.fixture
def repair_request(spec: KernelSpec) -> RepairRequest:
    evidence = Evidence(summary="thread 1024 writes past the end of out")
    return RepairRequest(
        spec=spec,
        header=args_header(spec),
        arch="sm_90a",
        source=SOURCE,
        verdict=Verdict(status=Status.OUT_OF_BOUNDS, executor="emulated", evidence=evidence),
        causes=(Cause(cause="the guard lets one thread too many pass", line=5),),
    )


@pytest.fixture
def replay(tmp_path: Path) -> Callable[..., ReplayChat]:
    """A model that gives these replies to one agent, whatever the prompt."""

    def make(agent: str, *replies: str) -> ReplayChat:
        path = tmp_path / "recording.jsonl"
        lines = [json.dumps({"agent": agent, "prompt": None, "reply": r}) for r in replies]
        path.write_text("\n".join(lines))
        return ReplayChat(path)

    return make
