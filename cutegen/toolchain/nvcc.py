"""The nvcc toolchain: one candidate, exactly one GPU architecture, a shared object."""

import re
from pathlib import Path

from cutegen.status import Status
from cutegen.toolchain.building import HEADER, LIBRARY, LINKER_FLAGS, build_library
from cutegen.toolchain.cache import BuildCache, content_key, default_cache_dir
from cutegen.toolchain.discovery import (
    Tool,
    ToolNotFoundError,
    find_cutlass,
    find_gxx,
    find_nvcc,
)
from cutegen.toolchain.ninja import BuildStep
from cutegen.toolchain.policed import OBJECT, policy_key, refuse_object, refuse_source
from cutegen.toolchain.protocol import BuildRequest, BuildResult
from cutegen.toolchain.ptxas import parse_resources

DEFAULT_ARCH = "sm_90a"
CANDIDATE = "candidate.cu"
_ARCH = re.compile(r"sm_(?P<number>\d{2,3}[af]?)")
# 177 (unused variable) and 2361 (host-side branch of a CuTe atom) come from CUTLASS headers
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-lineinfo",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "-Xptxas=-v",
    "-Xcompiler=-fPIC",
    "-Xcompiler=-fno-gnu-unique",  # two candidates in one process keep their state apart
    "-diag-suppress=177,2361",
)


_LINKING = ("--cudart=static", "-shared", *(f"-Xlinker={flag}" for flag in LINKER_FLAGS))


def nvcc_flags(arch: str) -> tuple[str, ...]:
    """The flags of every build for ``arch``, but for the places of this machine.

    Raises:
        ValueError: ``arch`` is no architecture.
    """
    return (*_compiling(arch), *_LINKING)


def _compiling(arch: str) -> tuple[str, ...]:
    found = _ARCH.fullmatch(arch)
    if found is None:
        raise ValueError(f"{arch!r} is no GPU architecture; write it like sm_90a or sm_80")
    return (*_FLAGS, f"-gencode=arch=compute_{found['number']},code={arch}")


class NvccToolchain:
    """Builds for a GPU. Needs no GPU to be present."""

    name = "nvcc"

    def __init__(
        self,
        arch: str = DEFAULT_ARCH,
        *,
        nvcc: Path | str | None = None,
        gxx: Path | str | None = None,
        cutlass: Path | str | None = None,
        cache_dir: Path | None = None,
        timeout_s: float = 600.0,
        police: bool = True,
    ) -> None:
        """Choose architecture and tools; nothing is looked for before the first build.

        Args:
            arch: Exact target, such as ``sm_80`` or ``sm_90a``. The suffix matters: wgmma
                exists for ``sm_90a``, not for ``sm_90``.
            nvcc: Path of nvcc; found as ``find_nvcc`` says when None.
            gxx: Path of nvcc's host compiler; found as ``find_gxx`` says when None.
            cutlass: Root of CUTLASS; found as ``find_cutlass`` says when None.
            cache_dir: Where results are kept; ``CUTEGEN_CACHE`` or the user's cache when None.
            timeout_s: Wall-clock limit of one build in seconds.
            police: Refuse what ``cutegen.source_policy`` names; off in tests of the boundary.

        Raises:
            ValueError: ``arch`` is no architecture.
        """
        self.arch = arch
        self._flags = _compiling(arch)
        self._nvcc = nvcc
        self._gxx = gxx
        self._cutlass = cutlass
        self._cache = BuildCache(cache_dir or default_cache_dir(), self.name)
        self._timeout_s = timeout_s
        self._police = police

    def build(self, request: BuildRequest) -> BuildResult:
        """Build, or return the cached result. Never raises for what the source did."""
        try:
            nvcc, gxx = find_nvcc(self._nvcc), find_gxx(self._gxx)
            cutlass = find_cutlass(self._cutlass)
        except ToolNotFoundError as error:
            return BuildResult(status=Status.ENVIRONMENT, toolchain=self.name, advice=str(error))
        if self._police and (refused := refuse_source(request.source, self.name)):
            return refused
        compiling, linking = self._commands(nvcc, gxx, cutlass)
        versions = {"nvcc": nvcc.version, "g++": gxx.version, "cutlass": cutlass.version}
        key = content_key(
            [
                request.source,
                request.header,
                policy_key(police=self._police),
                *versions.values(),
                *compiling,
                *linking,
            ]
        )

        def build(directory: Path) -> BuildResult:
            (directory / CANDIDATE).write_text(request.source, encoding="utf-8")
            (directory / HEADER).write_text(request.header, encoding="utf-8")
            # The object by itself shows what the candidate imports; in the library the CUDA
            # runtime's own imports stand beside them.
            steps = [
                BuildStep(output=OBJECT, inputs=(CANDIDATE, HEADER), argv=compiling),
                BuildStep(output=LIBRARY, inputs=(OBJECT,), argv=linking),
            ]
            result = build_library(
                directory,
                steps,
                toolchain=self.name,
                source=request.source,
                candidate=CANDIDATE,
                timeout_s=self._timeout_s,
            )
            result = result.model_copy(
                update={
                    "resources": parse_resources(result.log),
                    "versions": {**versions, "arch": self.arch},
                }
            )
            return (
                refuse_object(result, directory / OBJECT, request.source)
                if self._police
                else result
            )

        return self._cache.get_or_build(key, build)

    def _commands(
        self, nvcc: Tool, gxx: Tool, cutlass: Tool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arguments for compiling the candidate, and for linking it."""
        start = (str(nvcc.path), f"-ccbin={gxx.path}")
        includes = (f"-I{path}" for path in (".", *cutlass.include_dirs))
        folders = (f"-L{path}" for path in nvcc.library_dirs)
        return (
            (*start, *self._flags, *includes, "-c", CANDIDATE, "-o", OBJECT),
            (*start, *_LINKING, *folders, OBJECT, "-o", LIBRARY),
        )
