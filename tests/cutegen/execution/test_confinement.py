"""A candidate that tries each thing it must not be able to do, and reports how that went."""

import os
from pathlib import Path

import pytest
import torch

from cutegen.execution.confinement import chosen_layers
from cutegen.execution.landlock import landlock_version
from cutegen.execution.memory import HostArena
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.session import CaseRun

pytestmark = pytest.mark.skipif(
    not landlock_version() or os.uname().machine != "x86_64",
    reason="this kernel has no Landlock, or the machine is no x86-64",
)

HEADERS = """\
#include "cutegen_args.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
"""

# name: an expression that is true when the attempt came to nothing
REFUSED = {
    "network": "socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_INET6, SOCK_DGRAM, 0) < 0",
    "raw network": "socket(AF_PACKET, SOCK_RAW, 0) < 0 && socket(AF_NETLINK, SOCK_RAW, 0) < 0",
    "local sockets": "connect(socket(AF_UNIX, SOCK_STREAM, 0), (sockaddr*)&inet, sizeof inet) < 0 "
    "&& errno == EPERM",
    "a new file": 'open("OUTSIDE/new", O_CREAT | O_WRONLY, 0600) < 0',
    "an old file": 'open("OUTSIDE/old", O_WRONLY) < 0 && open("OUTSIDE/old", O_RDWR) < 0',
    "truncating": 'truncate("OUTSIDE/old", 0) < 0',
    "removing": 'unlink("OUTSIDE/old") < 0',
    "renaming": 'rename("OUTSIDE/old", "OUTSIDE/other") < 0',
    "a link into its folder": 'link("OUTSIDE/old", "here") < 0 && open("here", O_RDONLY) < 0',
    "a symbolic link": 'symlink("OUTSIDE/old", "there") < 0 || open("there", O_RDONLY) < 0',
    "reading others' files": 'open("OUTSIDE/old", O_RDONLY) < 0 && !opendir("OUTSIDE")',
    "the home folder": "!opendir(HOME_FOLDER)",
    "shared memory": 'open("/dev/shm/cutegen-probe", O_CREAT | O_RDWR, 0600) < 0',
    "its own memory file": 'open("/proc/self/mem", O_RDWR) < 0',
    "the parent's memory": 'open(of_parent("mem"), O_RDONLY) < 0',
    "the parent's environment": 'open(of_parent("environ"), O_RDONLY) < 0',
    "the parent's files": '!opendir(of_parent("cwd")) && open(of_parent("fd/2"), O_RDONLY) < 0',
    "tracing": "ptrace(PTRACE_SEIZE, getppid(), 0, 0) < 0",
    "reading the parent": "process_vm_readv(getppid(), &vector, 1, &vector, 1, 0) < 0",
    "signalling the parent": "kill(getppid(), 0) < 0",
    "a process": "fork() < 0 && vfork_fails()",
    "a program": 'execl("/bin/true", "true", nullptr) < 0',
    "leaving the group": "setsid() < 0 && setpgid(0, 0) < 0",
    "raising a limit": "setrlimit(RLIMIT_DATA, &unlimited) < 0",
    "namespaces": "unshare(CLONE_NEWUSER) < 0 && unshare(CLONE_NEWNET) < 0",
    "an unfiltered door": "syscall(SYS_io_uring_setup, 1, &ring) < 0",
    "the 32-bit calls": "syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0) < 0",
}
ALLOWED = {
    "threads": "!pthread_create(&thread, nullptr, work, nullptr) && !pthread_join(thread, nullptr)",
    "its own folder": 'open("mine", O_CREAT | O_RDWR, 0600) >= 0 && !unlink("mine")',
    "libraries": 'open("/etc/ld.so.cache", O_RDONLY) >= 0',
    "memory": "mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)"
    " != MAP_FAILED",
    "the null device": 'open("/dev/null", O_RDWR) >= 0',
}


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.from_callable(lambda x: x + 1, [torch.randn(8, 8)], name="increment")


@pytest.fixture(scope="module")
def outcomes(
    host_toolchain: Toolchain, spec: KernelSpec, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bool]:
    """One candidate makes all attempts, and writes how each went into its output."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "old").write_text("old", encoding="utf-8")
    attempts = {**REFUSED, **ALLOWED}
    tests = "\n".join(f"  *out++ = ({attempt}) ? 1.f : 0.f;" for attempt in attempts.values())
    source = f"""{HEADERS}
static char const* of_parent(char const* what) {{
  static char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", getppid(), what);
  return path;
}}
static bool vfork_fails() {{ return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0; }}
static void* work(void*) {{ return nullptr; }}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {{
  float* out = a->out;
  char buffer[8];
  iovec vector = {{buffer, sizeof buffer}};
  rlimit unlimited = {{RLIM_INFINITY, RLIM_INFINITY}};
  sockaddr_in inet = {{}};
  io_uring_params ring = {{}};
  pthread_t thread;
{tests}
  return cudaSuccess;
}}
"""
    source = source.replace("OUTSIDE", str(outside)).replace("HOME_FOLDER", f'"{Path.home()}"')
    run = launch(host_toolchain, spec, source)
    assert run.failure is None, run.failure
    assert (outside / "old").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in outside.iterdir()) == ["old"]
    results = run.outputs["out"].reshape(-1)[: len(attempts)].tolist()
    return dict(zip(attempts, (result == 1.0 for result in results), strict=True))


def launch(toolchain: Toolchain, spec: KernelSpec, source: str, timeout_s: float = 20) -> CaseRun:
    built = toolchain.build(BuildRequest(source=source, header=args_header(spec)))
    assert built.library is not None, built.log
    arena = HostArena(arena_bytes([spec.timed]))
    with WorkerSession(spec, built.library, arena, timeout_s=timeout_s) as session:
        assert session.facts["sandbox"] == {
            "landlock": landlock_version(),
            "seccomp": 1,
            "memory": 1,
        }
        run = session.run(spec.timed, {"x": torch.ones(8, 8)}, "fifo")
        outputs = {name: output.clone() for name, output in run.outputs.items()}
        return CaseRun(failure=run.failure, outputs=outputs)


@pytest.mark.parametrize("attempt", REFUSED)
def test_it_comes_to_nothing(outcomes: dict[str, bool], attempt: str) -> None:
    assert outcomes[attempt]


@pytest.mark.parametrize("need", ALLOWED)
def test_what_a_launch_needs_is_left(outcomes: dict[str, bool], need: str) -> None:
    assert outcomes[need]


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) memset(malloc(1 << 26), 1, 1 << 26);",
        "for (;;) if (mmap(nullptr, 1 << 26, 3, 34, -1, 0) == MAP_FAILED) abort();",
    ],
)
def test_memory_ends_before_the_machines_does(
    host_toolchain: Toolchain, spec: KernelSpec, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutegen.execution.session._HOST_MEMORY", 256 << 20)
    entry = f'extern "C" cudaError_t cutegen_launch(CutegenArgs const*) {{ {body} }}\n'
    run = launch(host_toolchain, spec, HEADERS + entry)
    assert run.failure is not None
    assert run.failure.status in {Status.LAUNCH_ERROR, Status.OUT_OF_BOUNDS}


def test_nothing_of_the_reference_is_in_the_workers_memory(
    host_toolchain: Toolchain, spec: KernelSpec
) -> None:
    """It searches every readable page for what the output should be, and for its inputs."""
    search = """
#include <cstdint>
static int count(float first, float second) {
  float wanted[2] = {first, second};
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1024];
  while (fgets(line, sizeof line, maps)) {
    uintptr_t from, to;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[0] != 'r') continue;
    if (strstr(line, "[vvar") || strstr(line, "[vsyscall") || strstr(line, "[stack")) continue;
    for (uintptr_t at = from; at + 8 <= to; at += 4)
      if (!memcmp((void*)at, wanted, 8)) ++found;
  }
  fclose(maps);
  return found;
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  float x0 = a->x[0], x1 = a->x[1];
  a->out[0] = count(x0, x1);
  a->out[1] = count(x0 + 1, x1 + 1);
  return cudaSuccess;
}
"""
    built = host_toolchain.build(BuildRequest(source=HEADERS + search, header=args_header(spec)))
    assert built.library is not None, built.log
    x = torch.randn(8, 8)
    with WorkerSession(
        spec, built.library, HostArena(arena_bytes([spec.timed])), timeout_s=60
    ) as session:
        run = session.run(spec.timed, {"x": x}, "fifo")
        assert run.failure is None, run.failure
        inputs, expected = run.outputs["out"].reshape(-1)[:2].tolist()
    assert inputs > 0  # the search works
    assert expected == 0


def test_its_folder_goes_with_it(host_toolchain: Toolchain, spec: KernelSpec) -> None:
    body = 'fclose(fopen("left", "w")); a->out[0] = access("left", F_OK);'
    entry = 'extern "C" cudaError_t cutegen_launch(CutegenArgs const* a)'
    source = f"{entry} {{ {body} return cudaSuccess; }}\n"
    built = host_toolchain.build(BuildRequest(source=HEADERS + source, header=args_header(spec)))
    assert built.library is not None, built.log
    with WorkerSession(
        spec, built.library, HostArena(arena_bytes([spec.timed])), timeout_s=20
    ) as session:
        run = session.run(spec.timed, {"x": torch.ones(8, 8)}, "fifo")
        assert run.failure is None, run.failure
        assert float(run.outputs["out"].reshape(-1)[0]) == 0
        assert session.folder is not None
        assert (session.folder / "left").exists()
    assert not session.folder.exists()


def test_layers_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_layers() == ["memory", "landlock", "seccomp"]
    monkeypatch.setenv("CUTEGEN_SANDBOX", "seccomp")
    assert chosen_layers() == ["seccomp"]
    monkeypatch.setenv("CUTEGEN_SANDBOX", "off")
    assert chosen_layers() == []
