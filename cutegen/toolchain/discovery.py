"""Finding nvcc, CUTLASS and g++: by argument, environment, PATH, or an installed wheel."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cutegen.faults import SurroundingsError
from cutegen.frozen import Frozen

_VERSION_TIMEOUT_S = 30.0
_OLDEST_GXX = 11
_GXX_NAME = re.compile(r"(?:^|[/-])g\+\+(?:-\d+)?$")  # not clang++
_CXX = "or set CXX to one"


class ToolNotFoundError(SurroundingsError):
    """A tool is not on this machine; the message says how to get it."""


class Tool(Frozen):
    """One tool: where it is, which version, and how it was found.

    ``include_dirs`` go on a compiler's command line; ``library_dirs`` on the linker's.
    """

    path: Path
    version: str
    found_by: str
    include_dirs: tuple[Path, ...] = ()
    library_dirs: tuple[Path, ...] = ()

    def describe(self) -> str:
        """One line for a person: version, path and how it was found."""
        return f"{self.version} at {self.path} ({self.found_by})"


def find_nvcc(nvcc: Path | str | None = None) -> Tool:
    """Find nvcc: the argument, ``CUDA_HOME``, PATH, then the ``nvidia-cuda-nvcc`` wheel.

    Raises:
        ToolNotFoundError: There is none, or the one named does not run.
    """
    for path, found_by in _nvcc_places(nvcc):
        if path.is_file():
            library_dirs = tuple(_wheel_library_dirs(path))
            return Tool(
                path=path,
                version=_version(path, r"V(\d+\.\d+\.\d+)"),
                found_by=found_by,
                library_dirs=library_dirs,
            )
        if found_by in {"argument", "CUDA_HOME"}:
            raise ToolNotFoundError(f"{found_by} names {path}, which is no file; correct it")
    raise ToolNotFoundError(
        "nvcc was not found: install the wheels with `pip install 'cutegen[cuda]'`, "
        "or set CUDA_HOME to a CUDA 13 toolkit"
    )


def find_cutlass(cutlass: Path | str | None = None) -> Tool:
    """Find CUTLASS: the argument, ``CUTEGEN_CUTLASS``, then the ``nvidia-cutlass`` wheel.

    A root is a checkout, or any folder that holds ``include/cutlass/version.h``.

    Raises:
        ToolNotFoundError: There is none, or the folder named is none.
    """
    for root, found_by in _cutlass_places(cutlass):
        version_header = root / "include" / "cutlass" / "version.h"
        if version_header.is_file():
            includes = (root / "include", root / "tools" / "util" / "include")
            return Tool(
                path=root,
                version=_cutlass_version(version_header),
                found_by=found_by,
                include_dirs=tuple(path for path in includes if path.is_dir()),
            )
        if found_by != "nvidia-cutlass wheel":
            raise ToolNotFoundError(
                f"{found_by} names {root}, which holds no include/cutlass/version.h; "
                "give the root of a CUTLASS checkout"
            )
    raise ToolNotFoundError(
        "CUTLASS headers were not found: `pip install nvidia-cutlass`, or set CUTEGEN_CUTLASS "
        "to a CUTLASS checkout"
    )


def find_gxx(gxx: Path | str | None = None) -> Tool:
    """Find g++: the argument, ``CXX`` when it names a g++, then PATH.

    Raises:
        ToolNotFoundError: There is none.
    """
    named = str(gxx) if gxx is not None else os.environ.get("CXX", "")
    if gxx is None and not _GXX_NAME.search(named):
        named = "g++"
    path = shutil.which(named)
    if path is None:
        raise ToolNotFoundError(
            f"{named} was not found: install g++ {_OLDEST_GXX} or newer, {_CXX}"
        )
    version = _version(Path(path), r"\A(?!.*clang).*?(\d+\.\d+\.\d+)")
    if int(version.split(".")[0]) < _OLDEST_GXX:
        raise ToolNotFoundError(
            f"{path} is g++ {version}: {_OLDEST_GXX} or newer is needed, {_CXX}"
        )
    found_by = "CXX" if named == os.environ.get("CXX") else "PATH"
    return Tool(path=Path(path), version=version, found_by=found_by if gxx is None else "argument")


def find_sanitizer(sanitizer: Path | str | None = None) -> Tool:
    """Find compute-sanitizer: the argument, ``CUDA_HOME``, PATH, beside nvcc, then its wheel.

    Raises:
        ToolNotFoundError: There is none, or it does not run.
    """
    for path, found_by in _sanitizer_places(sanitizer):
        if path.is_file():
            version = _version(path, r"Version (\d[\d.]+\d)")
            return Tool(path=path, version=version, found_by=found_by)
    raise ToolNotFoundError(
        "compute-sanitizer was not found: `pip install nvidia-cuda-sanitizer-api`, or set "
        "CUDA_HOME to a CUDA toolkit; without it kernels are accepted without its four checks"
    )


def find_cuobjdump() -> Tool:
    """Find cuobjdump, which shows machine code: ``CUDA_HOME``, PATH, beside nvcc, then its wheel.

    Raises:
        ToolNotFoundError: There is none, or it does not run.
    """
    for path, found_by in _toolkit_places("cuobjdump"):
        if path.is_file():
            return Tool(path=path, version=_version(path, r"V(\d+\.\d+\.\d+)"), found_by=found_by)
    raise ToolNotFoundError(
        "cuobjdump was not found: `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`, or set "
        "CUDA_HOME to a CUDA toolkit; without it static profiles lack the machine code"
    )


def find_ncu(ncu: Path | str | None = None) -> Tool:
    """Find Nsight Compute: the argument, ``CUDA_HOME``, PATH, then its own folders.

    Raises:
        ToolNotFoundError: There is none, or it does not run.
    """
    for path, found_by in _ncu_places(ncu):
        if path.is_file():
            return Tool(
                path=path, version=_version(path, r"Version (\d[\d.]+\d)"), found_by=found_by
            )
    raise ToolNotFoundError(
        "Nsight Compute (ncu) was not found: install it from NVIDIA, or set CUDA_HOME to a CUDA "
        "toolkit that holds it; without it profiles rest on what the compiler says and on the time"
    )


def _ncu_places(ncu: Path | str | None) -> Iterator[tuple[Path, str]]:
    if ncu is not None:
        yield Path(ncu), "argument"
        return
    yield from _toolkit_places("ncu")
    for path in sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True):
        yield path, "its folder"


def _sanitizer_places(sanitizer: Path | str | None) -> Iterator[tuple[Path, str]]:
    if sanitizer is not None:
        yield Path(sanitizer), "argument"
    yield from _toolkit_places("compute-sanitizer")


def _toolkit_places(name: str) -> Iterator[tuple[Path, str]]:
    """Where a program of a CUDA toolkit may lie."""
    if home := os.environ.get("CUDA_HOME"):
        yield Path(home) / "bin" / name, "CUDA_HOME"
    if on_path := shutil.which(name):
        yield Path(on_path), "PATH"
    if nvcc := shutil.which("nvcc"):
        yield Path(nvcc).resolve().parent / name, "beside nvcc"
    for root in _wheel_roots():
        yield root / "bin" / name, "wheel"


def _nvcc_places(nvcc: Path | str | None) -> Iterator[tuple[Path, str]]:
    if nvcc is not None:
        yield Path(nvcc), "argument"
    if home := os.environ.get("CUDA_HOME"):
        yield Path(home) / "bin" / "nvcc", "CUDA_HOME"
    if on_path := shutil.which("nvcc"):
        yield Path(on_path), "PATH"
    for root in _wheel_roots():
        yield root / "bin" / "nvcc", "wheels"


def _cutlass_places(cutlass: Path | str | None) -> Iterator[tuple[Path, str]]:
    if cutlass is not None:
        yield Path(cutlass), "argument"
    if named := os.environ.get("CUTEGEN_CUTLASS"):
        yield Path(named), "CUTEGEN_CUTLASS"
    # the wheel's package imports much when loaded, so it is located, not imported
    spec = importlib.util.find_spec("cutlass_library")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "source", "nvidia-cutlass wheel"


def _wheel_roots() -> Iterator[Path]:
    """The ``nvidia/cuNN`` folders in which the CUDA wheels put one common toolkit tree."""
    spec = importlib.util.find_spec("nvidia")
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted(Path(location).glob("cu[0-9]*"), reverse=True)


def _wheel_library_dirs(nvcc: Path) -> Iterator[Path]:
    """Wheels keep libraries in ``lib``, where nvcc itself looks for none."""
    root = nvcc.resolve().parent.parent
    if root.parent.name == "nvidia" and (root / "lib").is_dir():
        yield root / "lib"


@cache
def _version(path: Path, pattern: str) -> str:
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolNotFoundError(f"{path} does not run: {error}") from error
    found = re.search(pattern, answer.stdout)
    if answer.returncode or found is None:
        said = (answer.stdout + answer.stderr).strip()[:200]
        raise ToolNotFoundError(f"{path} is not the tool it should be: it says {said!r}")
    return found.group(1)


def _cutlass_version(header: Path) -> str:
    text = header.read_text()
    parts = re.findall(r"#define CUTLASS_(?:MAJOR|MINOR|PATCH)\s+(\d+)", text)
    return ".".join(parts)
