"""The exported graphs under ``langgraph dev``, asked by an SDK client as Studio asks it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutegen.result import RunResult, RunStatus
from cutegen.suite import SuiteResult

sdk = pytest.importorskip("langgraph_sdk", reason="needs the studio extra")

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "tests" / "kernelbench" / "custom" / "small_swish.py"
KERNEL = (Path(__file__).parent / "kernels" / "swish.cu").read_text()
FIRST = f"INTENT: plain\n```cuda\n{KERNEL}```\n"
# Beside the interpreter: a virtual environment need not be on PATH, and in CI it is not.
PROGRAM = shutil.which("langgraph", path=sysconfig.get_path("scripts"))
_START_S = 90.0


class Server:
    """A dev server on a free port, in a folder of its own, that can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        config = json.loads((ROOT / "langgraph.json").read_text())
        (folder / "langgraph.json").write_text(json.dumps(config))  # it keeps its state beside it
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert PROGRAM is not None
        with self.log.open("a") as output:
            self._process = subprocess.Popen(
                [PROGRAM, "dev", "--no-browser", "--no-reload", "--port", str(self._port)],
                cwd=self._folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "LANGSMITH_TRACING": "false"},
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """As Ctrl-C does."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(timeout=60)

    def kill(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def client(self) -> Any:
        return sdk.get_sync_client(url=f"http://127.0.0.1:{self._port}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if PROGRAM is None:
        pytest.skip("langgraph-cli is not installed")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    one = Server(tmp_path_factory.mktemp("server"))
    one.start()
    try:
        yield one
    finally:
        one.kill()


@pytest.fixture
def context(tmp_path: Path) -> dict[str, Any]:
    """A recorded run that comes to the profile with one kernel."""
    replies = [
        ("synthesizer", FIRST),
        ("structural_optimizer", "OUT_OF_IDEAS: nothing is left to try\n"),
        ("structural_optimizer", "OUT_OF_IDEAS: nothing is left to try\n"),
        ("profile_tuner", "OUT_OF_IDEAS: nothing is left to try\n"),
    ]
    recording = tmp_path / "recording.jsonl"
    lines = [json.dumps({"agent": agent, "reply": reply}) for agent, reply in replies]
    recording.write_text("".join(f"{line}\n" for line in lines))
    return {
        "model": f"replay:{recording}",
        "executor": "emulated",
        "runs_dir": str(tmp_path),
        "nvcc_gate": False,
    }


def test_studio_finds_both_graphs_and_their_forms(server: Server) -> None:
    client = server.client
    found = {each["name"]: each["assistant_id"] for each in client.assistants.search()}
    assert set(found) == {"cutegen", "cutegen_suite"}
    inputs = {"cutegen": "spec_path", "cutegen_suite": "spec_paths"}
    for name, identity in found.items():
        schemas = client.assistants.get_schemas(identity)
        assert list(schemas["input_schema"]["properties"]) == [inputs[name]]
        steps = schemas["context_schema"]["properties"]["steps"]
        assert (steps["title"], steps["default"]) == ("Steps", 16)
        assert (steps["minimum"], steps["maximum"]) == (0, 1000)
    nodes = {node["id"] for node in client.assistants.get_graph(found["cutegen"])["nodes"]}
    assert {"synthesize", "compile", "verify", "measure", "select", "profile"} <= nodes


def test_a_run_tells_studio_what_it_does(
    server: Server, context: dict[str, Any], tmp_path: Path
) -> None:
    client = server.client
    thread = client.threads.create()["thread_id"]
    parts = list(
        client.runs.stream(
            thread,
            "cutegen",
            input={"spec_path": str(SPEC)},
            context=context,
            stream_mode=["custom", "updates"],
        )
    )
    told = [part.data["event"] for part in parts if part.event == "custom"]
    assert told[0] == "run-started"
    assert told[-1] == "finished", [part for part in parts if part.event == "error"]
    assert {"built", "verified", "measured", "profiled"} <= set(told)
    nodes = [node for part in parts if part.event == "updates" for node in part.data]
    assert nodes[:5] == ["synthesize", "compile", "verify", "measure", "select"]
    state = client.threads.get_state(thread)["values"]
    assert state["status"] == "SUCCEEDED"
    result = RunResult.load(tmp_path / thread)
    assert result.status is RunStatus.SUCCEEDED
    assert result.best is not None
    assert result.best.id == state["best"]["id"]


def test_a_suite_runs_in_studio(server: Server, context: dict[str, Any], tmp_path: Path) -> None:
    client = server.client
    thread = client.threads.create()["thread_id"]
    parts = client.runs.stream(
        thread,
        "cutegen_suite",
        input={"spec_paths": [str(SPEC.parent / "small_s*.py")]},
        context=context,
        stream_mode="custom",
    )
    told = [part.data for part in parts if part.event == "custom"]
    assert [event["event"] for event in (told[0], told[-1])] == ["suite-started", "member-ended"]
    inner = [event["told"]["event"] for event in told if event["event"] == "member-told"]
    assert "profiled" in inner
    values = client.threads.get_state(thread)["values"]
    assert values["result"]["counts"] == {"SUCCEEDED": 1}
    assert SuiteResult.load(tmp_path / thread).verified == 1


def test_a_person_answers_after_the_server_was_stopped(
    server: Server, context: dict[str, Any]
) -> None:
    thread = server.client.threads.create()["thread_id"]
    context |= {"model": "human", "steps": 0}
    server.client.runs.wait(thread, "cutegen", input={"spec_path": str(SPEC)}, context=context)
    (before,) = server.client.threads.get_state(thread)["interrupts"]
    server.stop()
    server.start()
    client = server.client
    for reply in ("not a kernel", FIRST):
        (interrupt,) = client.threads.get_state(thread)["interrupts"]
        assert "## The function: small_swish" in interrupt["value"]["prompt"]
        if reply != FIRST:
            assert interrupt == before
        client.runs.wait(thread, "cutegen", command={"resume": reply}, context=context)
    assert client.threads.get_state(thread)["values"]["status"] == "SUCCEEDED"
    history = client.threads.get_history(thread, limit=100)
    coming = [state["next"] for state in history]
    assert coming[0] == []
    assert ["synthesize"] in coming  # from before the stop
