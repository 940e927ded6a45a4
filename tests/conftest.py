"""A real HTTP server on the loopback interface that speaks OpenAI's chat completions."""

import os

# As the program does: PyTorch's threads would spin while other tests need the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when PyTorch is imported

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share a build run on one worker, whichever ``--dist`` is asked for."""
    from scheduling import SharedBuilds  # noqa: PLC0415 - xdist may not be installed

    return SharedBuilds(config, log)


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
_PARTS = 8


@dataclass
class Answer:
    """What the server does with one request."""

    text: str | None = ""
    finish_reason: str = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))
    status: int = 200
    body: bytes | None = None  # sent as it is
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0.0  # between the parts of a stream, and before an answer in one piece
    drop_after: int | None = None  # the connection is cut after so many parts


class Service:
    """Answers from a list, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[dict[str, Any]] = []
        self.unknown: set[str] = set()  # parameters it refuses to know
        self.streams = True  # else the parameter is ignored, as some servers do
        self.at: list[float] = []
        self.port = 0

    def reply(self, text: str | None, finish_reason: str = "stop", **more: Any) -> None:
        self.answers.append(Answer(text=text, finish_reason=finish_reason, **more))

    def fail(self, status: int, message: str, **headers: str) -> None:
        body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(Answer(status=status, body=body, headers=names))

    def raw(self, body: bytes) -> None:
        self.answers.append(Answer(body=body))

    def take(self, asked: dict[str, Any]) -> Answer:
        self.asked.append(asked)
        self.at.append(time.monotonic())
        used = {name for name, value in asked.items() if value is not None and value is not False}
        for name in sorted(self.unknown & used):
            body = {"error": {"message": f"Unrecognized request argument supplied: {name}"}}
            return Answer(status=400, body=json.dumps(body).encode())
        return self.answers.pop(0)


class _Handler(BaseHTTPRequestHandler):
    service: Service

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.service.take(asked)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if answer.drop_after == 0:
                self._drop()
            elif answer.body is not None:
                self._send(answer, answer.body)
            elif asked.get("stream") and self.service.streams:
                self._stream(answer, counts="stream_options" in asked)
            else:
                time.sleep(answer.pause_s)
                self._send(answer, json.dumps(_whole(answer)).encode())

    def _send(self, answer: Answer, body: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Answer, *, counts: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, chunk in enumerate(_chunks(answer, counts=counts)):
            if number == answer.drop_after:
                return self._drop()
            time.sleep(answer.pause_s)
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
        return None

    def _drop(self) -> None:
        """Cut the connection without a farewell."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def log_message(self, *args: object) -> None:
        """Stay quiet."""

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()


def _envelope(kind: str, choices: list[dict[str, Any]], usage: Any) -> dict[str, Any]:
    more = {"usage": usage} if usage else {}
    head = {"id": "chatcmpl-1", "object": kind, "created": 0, "model": "small"}
    return {**head, "choices": choices, **more}


def _whole(answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    choice = {"index": 0, "finish_reason": answer.finish_reason, "message": message}
    return _envelope("chat.completion", [choice], answer.usage)


def _chunks(answer: Answer, *, counts: bool) -> Iterator[dict[str, Any]]:
    kind = "chat.completion.chunk"

    def choice(delta: dict[str, Any], reason: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": reason}]

    text = answer.text
    yield _envelope(kind, choice({"role": "assistant", "content": text and ""}), None)
    size = max(1, -(-len(text or "") // _PARTS))
    for start in range(0, len(text or ""), size):
        part = (text or "")[start : start + size]
        yield _envelope(kind, choice({"content": part}), None)
    yield _envelope(kind, choice({}, answer.finish_reason), None)
    if counts and answer.usage:
        yield _envelope(kind, [], answer.usage)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    scripted = Service()
    handler = type("Handler", (_Handler,), {"service": scripted})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # dropped on purpose
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    scripted.port = server.server_port
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    yield scripted
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits before a request is repeated, which tests do not want to sit out."""
    kept: list[float] = []
    monkeypatch.setattr("cutegen.agents.models.patience.sleep", kept.append)
    return kept
