"""A small spec, the requests made of it, and a server that speaks the OpenAI chat API."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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


class Service:
    """Answers the chat-completions API from a list, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []

    def reply(self, text: str, finish_reason: str = "stop") -> None:
        choice = {
            "index": 0,
            "finish_reason": finish_reason,
            "message": {"role": "assistant", "content": text},
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "small",
            "choices": [choice],
            "usage": usage,
        }
        self.answers.append((200, body))

    def fail(self, status: int, message: str) -> None:
        self.answers.append((status, {"error": {"message": message, "type": "error"}}))

    def answer(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(asked)
        status, body = self.answers.pop(0)
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    scripted = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            length = int(self.headers["Content-Length"])
            status, body = scripted.answer(json.loads(self.rfile.read(length)))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    yield scripted
    server.shutdown()
    thread.join()
    server.server_close()
