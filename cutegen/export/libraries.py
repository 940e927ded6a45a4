"""The shared object of an exported kernel: the one that was shipped, or one built here by nvcc.

This file stands alone, like ``runtime.py``, and is copied with it.
"""

import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from .runtime import CutegenUnsupportedError

CUTEGEN_BUILD_LIMIT_S = 600


@dataclass(frozen=True)
class CutegenLibraries:
    """Chooses a kernel's library for a device; called with the device.

    ``arch`` is the GPU the kernel was verified for, such as ``sm_90a``: a suffix ties it to
    that very GPU, and without one a later GPU of the same generation will do. ``shipped`` maps
    ``arch`` and ``cpu`` (an emulated build, for tests without a GPU) to libraries.
    """

    arch: str
    source: str
    header: str
    nvcc_flags: tuple[str, ...]
    shipped: Mapping[str, Path] = field(default_factory=dict)

    def __call__(self, device: torch.device) -> Path:
        """The library for tensors on ``device``.

        Raises:
            CutegenUnsupportedError: The kernel was not made for such a device.
            RuntimeError: It must be built here, and that failed.
        """
        if device.type == "cpu" and "cpu" in self.shipped:
            return self.shipped["cpu"]
        if device.type != "cuda":
            raise CutegenUnsupportedError(
                f"this kernel runs on a GPU ({self.arch}), but the first tensor is on {device}"
            )
        major, minor = torch.cuda.get_device_capability(device)
        number = self.arch.removeprefix("sm_")
        exact = not number.isdigit()
        wanted = int(number.rstrip("af"))
        here = 10 * major + minor
        if here != wanted and (exact or here < wanted or here // 10 != wanted // 10):
            raise CutegenUnsupportedError(
                f"this kernel was made for {self.arch}, but {device} is sm_{here}"
            )
        return self.shipped[self.arch] if self.arch in self.shipped else self._built()

    def _built(self) -> Path:
        """Build with nvcc, once per user, source and flags."""
        digest = hashlib.sha256("\0".join((self.source, self.header, *self.nvcc_flags)).encode())
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(base) / "cutegen-exported" / digest.hexdigest()[:24]
        library = folder / "kernel.so"
        if library.exists():
            return library
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            work = Path(scratch)
            (work / "kernel.cu").write_text(self.source, encoding="utf-8")
            (work / "cutegen_args.h").write_text(self.header, encoding="utf-8")
            command = [_cutegen_nvcc(), *self.nvcc_flags, "-I."]
            command += [f"-I{path}" for path in _cutegen_cutlass()]
            _cutegen_run([*command, "kernel.cu", "-o", "kernel.so"], work)
            (work / "kernel.so").replace(library)
        return library


def _cutegen_run(command: list[str], folder: Path) -> None:
    """Run nvcc, which has children of its own: they end with it."""
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
        try:
            code = process.wait(timeout=CUTEGEN_BUILD_LIMIT_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if code:
            log.seek(0)
            raise RuntimeError(f"nvcc cannot build the kernel:\n{log.read()[-4000:]}")


def _cutegen_nvcc() -> str:
    """The path of nvcc: CUDA_HOME, PATH, then the ``nvidia-cuda-nvcc`` wheel."""
    home = os.environ.get("CUDA_HOME")
    wheels = (root / "bin" / "nvcc" for root in _cutegen_wheels())
    named = [Path(home) / "bin" / "nvcc"] if home else []
    for path in (*named, Path(shutil.which("nvcc") or "nvcc"), *wheels):
        if path.is_file():
            return str(path)
    raise RuntimeError(
        "the kernel must be built here, and nvcc was not found: set CUDA_HOME, "
        "or `pip install 'nvidia-cuda-nvcc==13.0.*'`"
    )


def _cutegen_wheels() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(place).glob("cu*"), reverse=True)


def _cutegen_cutlass() -> tuple[Path, ...]:
    """Include folders of CUTLASS: ``CUTEGEN_CUTLASS``, then the ``nvidia-cutlass`` wheel."""
    root = os.environ.get("CUTEGEN_CUTLASS")
    spec = importlib.util.find_spec("cutlass_library")
    if root is None and spec is not None and spec.origin is not None:
        root = str(Path(spec.origin).parent / "source")
    if root is None:
        raise RuntimeError(
            "the kernel must be built here, and CUTLASS was not found: "
            "`pip install nvidia-cutlass`, or set CUTEGEN_CUTLASS to a checkout"
        )
    return Path(root) / "include", Path(root) / "tools" / "util" / "include"
