"""Candidates in plain host C++, built by g++ in a fraction of a second.

They obey the launch contract, run in the real worker process and climb the real ladder;
only their kernels are loops instead of CUDA. The emulator's own tests run CUDA.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cutegen.kernel import HEADER_NAME
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Diagnostic

_CUDA_RUNTIME = """\
#pragma once
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorNotSupported = 801 };
using cudaStream_t = void*;
"""


class HostToolchain:
    """Builds host C++ against the generated header, once per content."""

    name = "host"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "cuda_runtime.h").write_text(_CUDA_RUNTIME, encoding="utf-8")

    def build(self, request: BuildRequest) -> BuildResult:
        key = hashlib.sha256(f"{request.header}\0{request.source}".encode()).hexdigest()[:16]
        home = self._folder / key
        library = home / "candidate.so"
        if library.exists():
            return BuildResult(status=Status.PASSED, toolchain=self.name, library=library)
        home.mkdir(exist_ok=True)
        (home / HEADER_NAME).write_text(request.header, encoding="utf-8")
        (home / "candidate.cpp").write_text(request.source, encoding="utf-8")
        partial = home / f"partial-{os.getpid()}.so"
        command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-I", str(self._folder)]
        done = subprocess.run(
            [*command, str(home / "candidate.cpp"), "-o", str(partial)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            message = next(line for line in done.stderr.splitlines() if "error" in line)
            return BuildResult(
                status=Status.COMPILE_ERROR,
                toolchain=self.name,
                diagnostics=(Diagnostic(severity="error", message=message),),
                log=done.stderr,
            )
        partial.replace(library)
        return BuildResult(status=Status.PASSED, toolchain=self.name, library=library)


@pytest.fixture(scope="session")
def host_toolchain(tmp_path_factory: pytest.TempPathFactory) -> HostToolchain:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    return HostToolchain(tmp_path_factory.mktemp("host-candidates"))
