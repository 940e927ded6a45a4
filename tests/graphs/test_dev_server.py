"""The exported graph under ``langgraph dev``, asked by an SDK client as Studio asks it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutegen.result import RunResult, RunStatus

sdk = pytest.importorskip("langgraph_sdk", reason="needs the studio extra")

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "tests" / "kernelbench" / "custom" / "small_swish.py"
KERNEL = Path(__file__).parent / "kernels" / "swish.cu"
_START_S = 90.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dev server on a free port, in a folder of its own; killed as a group at the end."""
    command = shutil.which("langgraph")
    if command is None:
        pytest.skip("langgraph-cli is not installed")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("server")
    config = json.loads((ROOT / "langgraph.json").read_text())
    (folder / "langgraph.json").write_text(json.dumps(config))  # it keeps its state beside it
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [command, "dev", "--no-browser", "--no-reload", "--port", str(port)],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LANGSMITH_TRACING": "false"},
        )
    try:
        deadline = time.monotonic() + _START_S
        while not _answers(port):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def test_a_client_runs_the_graph_once(url: str, tmp_path: Path) -> None:
    client: Any = sdk.get_sync_client(url=url)
    (assistant,) = client.assistants.search()
    assert assistant["name"] == "cutegen"
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    assert schemas["context_schema"]["properties"]["executor"]["title"] == "Executor"
    assert list(schemas["input_schema"]["properties"]) == ["spec_path"]

    thread = client.threads.create()
    parts = list(
        client.runs.stream(
            thread["thread_id"],
            "cutegen",
            input={"spec_path": str(SPEC)},
            context={
                "executor": "emulated",
                "runs_dir": str(tmp_path),
                "nvcc_gate": False,
                "steps": 1,
            },
            stream_mode=["custom", "updates"],
        )
    )
    told = [part.data["event"] for part in parts if part.event == "custom"]
    assert told[0] == "run-started"
    assert told[-1] == "finished", [part for part in parts if part.event == "error"]
    state = client.threads.get_state(thread["thread_id"])["values"]
    assert state["status"] == "SUCCEEDED"
    result = RunResult.load(tmp_path / thread["thread_id"])
    assert result.status is RunStatus.SUCCEEDED
    assert result.best is not None
    assert result.best.id == state["best"]["id"]


def test_a_client_answers_in_the_models_place(url: str, tmp_path: Path) -> None:
    client: Any = sdk.get_sync_client(url=url)
    thread = client.threads.create()["thread_id"]
    context = {
        "model": "human",
        "executor": "emulated",
        "runs_dir": str(tmp_path),
        "nvcc_gate": False,
        "steps": 0,
    }
    client.runs.wait(thread, "cutegen", input={"spec_path": str(SPEC)}, context=context)
    for reply in ("not a kernel", f"INTENT: plain\n```cuda\n{KERNEL.read_text()}```\n"):
        (interrupt,) = client.threads.get_state(thread)["interrupts"]
        assert "## The function: small_swish" in interrupt["value"]["prompt"]
        client.runs.wait(thread, "cutegen", command={"resume": reply}, context=context)
    assert client.threads.get_state(thread)["values"]["status"] == "SUCCEEDED"
