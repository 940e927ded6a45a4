"""The emulator toolchain: g++ makes a CPU program of the same candidate.

CuTe's headers take most of a build's time, so they are precompiled once per compiler, flags and
header versions; afterwards a small kernel builds in seconds.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from cutegen.emulator import CXX_FLAGS, INCLUDE_DIR, PRECOMPILED_HEADER, EmulationError, rewrite
from cutegen.status import Status
from cutegen.toolchain.building import (
    HEADER,
    LIBRARY,
    LINKER_FLAGS,
    build_library,
    explain_failure,
)
from cutegen.toolchain.cache import BuildCache, content_key, default_cache_dir
from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx
from cutegen.toolchain.ninja import BuildStep, Ending, run_ninja
from cutegen.toolchain.protocol import BuildRequest, BuildResult

_CANDIDATE = "candidate.cpp"
_PRECOMPILED = f"{PRECOMPILED_HEADER}.gch"
_PRECOMPILE_TIMEOUT_S = 600.0  # CuTe's headers take half a minute on a busy laptop


class EmulatorToolchain:
    """Builds for the CPU: the candidate is rewritten, then compiled against the emulator."""

    name = "emulator"

    def __init__(
        self,
        *,
        gxx: Path | str | None = None,
        cutlass: Path | str | None = None,
        cache_dir: Path | None = None,
        timeout_s: float = 300.0,
    ) -> None:
        """Choose tools; nothing is looked for before the first build.

        Args:
            gxx: Path of g++; found as ``find_gxx`` says when None.
            cutlass: Root of CUTLASS; found as ``find_cutlass`` says when None.
            cache_dir: Where results are kept; ``CUTEGEN_CACHE`` or the user's cache when None.
            timeout_s: Wall-clock limit of one build in seconds.
        """
        self._gxx = gxx
        self._cutlass = cutlass
        self._cache = BuildCache(cache_dir or default_cache_dir(), self.name)
        self._timeout_s = timeout_s

    def build(self, request: BuildRequest) -> BuildResult:
        """Build, or return the cached result. Never raises for what the source did."""
        try:
            gxx, cutlass = find_gxx(self._gxx), find_cutlass(self._cutlass)
            rewritten = rewrite(request.source)
        except (ToolNotFoundError, EmulationError) as error:
            return BuildResult(status=Status.ENVIRONMENT, toolchain=self.name, advice=str(error))
        compiler = (str(gxx.path), *CXX_FLAGS)
        includes = _include_flags((INCLUDE_DIR, *cutlass.include_dirs))
        versions = (gxx.version, cutlass.version, _headers_hash())

        def build(directory: Path) -> BuildResult:
            headers = self._precompiled(versions, compiler, includes)
            if headers.library is None:
                return headers
            command = (
                *compiler,
                "-shared",
                f"-I{headers.library.parent}",
                "-include",
                PRECOMPILED_HEADER,
                "-I.",
                *includes,
                *(f"-Wl,{flag}" for flag in LINKER_FLAGS),
                _CANDIDATE,
                "-o",
                LIBRARY,
            )
            (directory / _CANDIDATE).write_text(rewritten, encoding="utf-8")
            (directory / HEADER).write_text(request.header, encoding="utf-8")
            step = BuildStep(output=LIBRARY, inputs=(_CANDIDATE, HEADER), argv=command)
            result = build_library(
                directory,
                [step],
                toolchain=self.name,
                source=request.source,
                candidate=_CANDIDATE,
                timeout_s=self._timeout_s,
            )
            return result.model_copy(
                update={"versions": {"g++": gxx.version, "cutlass": cutlass.version}}
            )

        return self._cache.get_or_build(
            content_key([rewritten, request.header, *versions, *compiler]), build
        )

    def _precompiled(
        self, versions: tuple[str, ...], compiler: tuple[str, ...], includes: tuple[str, ...]
    ) -> BuildResult:
        """The folder of the precompiled header, as the ``library`` of a result of its own."""

        def build(directory: Path) -> BuildResult:
            # g++ takes NAME.gch for `-include NAME`, and reads NAME itself when it must not
            header = directory / PRECOMPILED_HEADER
            header.write_bytes((INCLUDE_DIR / PRECOMPILED_HEADER).read_bytes())
            command = (*compiler, "-x", "c++-header", *includes, header.name, "-o", _PRECOMPILED)
            step = BuildStep(output=_PRECOMPILED, inputs=(header.name,), argv=command)
            built = run_ninja(directory, [step], _PRECOMPILE_TIMEOUT_S)
            if built.ending is Ending.DONE:
                return BuildResult(
                    status=Status.PASSED,
                    toolchain=self.name,
                    library=directory / _PRECOMPILED,
                    seconds=built.seconds,
                )
            status, advice = explain_failure(built, _PRECOMPILE_TIMEOUT_S)
            if status is not Status.RESOURCE:  # no candidate was compiled, so none is to blame
                status = Status.ENVIRONMENT
            return BuildResult(
                status=status,
                toolchain=self.name,
                advice="g++ cannot precompile the emulator's headers on this machine: "
                + (advice or "see the log; g++ 11 or newer is needed"),
                log=built.output,
                seconds=built.seconds,
            )

        return self._cache.get_or_build(
            content_key(["precompiled", *versions, *compiler, *includes]), build
        )


def _include_flags(folders: Iterable[Path]) -> tuple[str, ...]:
    return tuple(f"-I{folder}" for folder in folders)


def _headers_hash() -> str:
    """Hash of every header of the emulator: an edit of one rebuilds everything."""
    digest = hashlib.sha256()
    for path in sorted(INCLUDE_DIR.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
