"""The worker process: whatever a candidate does, it ends, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cutegen.execution.memory import HostArena
from cutegen.execution.process import WorkerProcess
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.session import CaseRun

Launch = Callable[..., CaseRun]

PRELUDE = """\
#include "cutegen_args.h"
#include <cstdio>
#include <cstdlib>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>
"""


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_callable(lambda x: x + 1, [torch.randn(8, 8)], name="increment")


@pytest.fixture
def library(host_toolchain: Toolchain, spec: KernelSpec) -> Callable[[str], Path]:
    def build(body: str) -> Path:
        source = (
            f'{PRELUDE}extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) '
            f"{{\n{body}\n  return cudaSuccess;\n}}\n"
        )
        built = host_toolchain.build(BuildRequest(source=source, header=args_header(spec)))
        assert built.library is not None, built.log
        return built.library

    return build


@pytest.fixture
def launch(library: Callable[[str], Path], spec: KernelSpec) -> Launch:
    def run(body: str, timeout_s: float = 10.0) -> CaseRun:
        arena = HostArena(arena_bytes([spec.timed]))
        with WorkerSession(spec, library(body), arena, timeout_s=timeout_s) as session:
            result = session.run(spec.timed, {"x": torch.ones(8, 8)}, "fifo")
            outputs = {name: output.clone() for name, output in result.outputs.items()}
            return CaseRun(failure=result.failure, outputs=outputs)

    return run


def exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    """Processes that any of its threads has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for text in lists for child in text.read_text(encoding="utf-8").split()]


def is_worker(pid: int) -> bool:
    """Whether it runs the worker's module: a run has short-lived children of other kinds, too."""
    try:
        return b"cutegen.execution.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def gone_soon(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not exists(pid)


def test_the_worker_imports_nothing_heavy() -> None:
    script = "import sys, cutegen.execution.worker; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    heavy = {"torch", "numpy", "pydantic", "langgraph", "langchain_core"}
    assert not heavy & set(done.stdout.split())


def test_outputs_appear_in_the_parent(launch: Launch) -> None:
    run = launch("for (int i = 0; i < 64; ++i) a->out[i] = a->x[i] + i;")
    assert run.failure is None
    assert torch.equal(run.outputs["out"].reshape(-1), 1 + torch.arange(64.0))


def test_endless_printing_is_stopped_and_its_log_bounded(launch: Launch) -> None:
    run = launch('puts("the first line"); for (;;) puts("again and again");', timeout_s=1.0)
    assert run.failure is not None
    assert run.failure.status is Status.TIMEOUT
    assert run.failure.log.startswith("the first line")
    assert "bytes left out" in run.failure.log
    assert len(run.failure.log) < 70_000


def test_what_it_printed_before_it_crashed_is_kept(launch: Launch) -> None:
    run = launch('fputs("about to fail", stderr); abort();')
    assert run.failure is not None
    assert run.failure.status is Status.LAUNCH_ERROR
    assert "about to fail" in run.failure.log


def test_children_of_a_worker_die_with_it() -> None:
    with WorkerProcess(None, module="breeding_worker") as process:
        child = int(process.ask("breed", 10)["child"])
        assert exists(child)
    assert gone_soon(child)


def test_a_worker_dies_with_a_killed_parent(library: Callable[[str], Path]) -> None:
    endless = library("for (;;) sleep(1);")
    script = f"""
import torch
from pathlib import Path
from cutegen.execution.memory import HostArena
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.spec import KernelSpec
spec = KernelSpec.from_callable(lambda x: x + 1, [torch.randn(8, 8)], name="increment")
with WorkerSession(
    spec, Path({str(endless)!r}), HostArena(arena_bytes([spec.timed])), timeout_s=100
) as session:
    session.run(spec.timed, {{"x": torch.ones(8, 8)}}, "fifo")
"""
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as parent:
        deadline = time.monotonic() + 60
        while not (workers := list(filter(is_worker, children_of(parent.pid)))):
            assert time.monotonic() < deadline
            assert parent.poll() is None
            time.sleep(0.02)
        worker = workers[0]
        assert exists(worker)
        parent.kill()
    assert gone_soon(worker)


def test_files_cannot_grow_without_end(launch: Launch) -> None:
    run = launch(
        """
        FILE* flood = fopen("flood", "w");
        static char block[1 << 20];
        for (;;) fwrite(block, 1, sizeof block, flood);
        """
    )
    assert run.failure is not None
    assert "SIGXFSZ" in run.failure.summary


def test_secrets_stay_in_the_parent(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    run = launch('for (int i = 0; i < 64; ++i) a->out[i] = getenv("OPENAI_API_KEY") != nullptr;')
    assert not run.outputs["out"].any()


@pytest.mark.parametrize(
    "words",
    ["{}", "nonsense", '{"error": "", "code": 0, "launched": true, "workspace_intact": true}'],
)
def test_writing_to_the_channel_is_noticed(launch: Launch, words: str) -> None:
    text = f"{words}\\n".replace('"', '\\"')
    size = len(words) + 1
    run = launch(f'for (int fd = 3; fd < 1024; ++fd) write(fd, "{text}", {size});')
    assert run.failure is not None
    assert run.failure.status is Status.CHEAT


def test_a_kill_from_outside_is_no_fault_of_the_candidate(launch: Launch) -> None:
    run = launch("kill(getpid(), 9);".replace("kill", "::kill"))
    assert run.failure is not None
    assert run.failure.status is Status.RESOURCE
    assert not run.failure.status.is_candidates_fault


def test_a_library_without_the_entry_point(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    source = '#include "cutegen_args.h"\nextern "C" int something_else() { return 0; }\n'
    built = host_toolchain.build(BuildRequest(source=source, header=args_header(spec)))
    assert built.library is not None
    arena = HostArena(arena_bytes([spec.timed]))
    with WorkerSession(spec, built.library, arena, timeout_s=10) as session:
        run = session.run(spec.timed, {"x": torch.ones(8, 8)}, "fifo")
    assert run.failure is not None
    assert run.failure.status is Status.LAUNCH_ERROR
    assert "cutegen_launch" in run.failure.summary


def test_no_descriptor_is_left_open(launch: Launch) -> None:
    body = "for (int i = 0; i < 64; ++i) a->out[i] = 0;"
    launch(body)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - procfs
    for _ in range(3):
        launch(body)
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208 - procfs


def test_signal_numbers_are_named(launch: Launch) -> None:
    run = launch(f"raise({int(signal.SIGILL)});")
    assert run.failure is not None
    assert "SIGILL" in run.failure.summary
