"""What every emulated candidate shares: CuTe's headers precompiled, the watcher and the machine.

CuTe's headers take most of a build's time, so they are compiled once per compiler, flags and
header versions; afterwards a small kernel builds in seconds.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from cutegen.emulator import (
    CHECKS,
    CHECKS_CXX_FLAGS,
    CHECKS_DIR,
    CXX_FLAGS,
    INCLUDE_DIR,
    PRECOMPILED_HEADER,
)
from cutegen.emulator import LINKER_FLAGS as EMULATOR_LINKER_FLAGS
from cutegen.frozen import Frozen
from cutegen.status import Status
from cutegen.toolchain.building import LIBRARY, LINKER_FLAGS, explain_failure
from cutegen.toolchain.cache import BuildCache, content_key
from cutegen.toolchain.discovery import Tool
from cutegen.toolchain.ninja import BuildStep, Ending, run_ninja
from cutegen.toolchain.protocol import BuildResult

_PRECOMPILED = f"{PRECOMPILED_HEADER}.gch"
_TIMEOUT_S = 600.0  # CuTe's headers take half a minute on a busy laptop


def object_of(candidate: str) -> str:
    """Name of the object that is made of a candidate by itself, before it is linked."""
    return f"{candidate}.o"


class Recipe(Frozen):
    """How candidates are built by one g++ against one CUTLASS."""

    gxx: str
    includes: tuple[str, ...]
    versions: tuple[str, ...]

    @classmethod
    def of(cls, gxx: Tool, cutlass: Tool) -> "Recipe":
        """For these tools; hashes the emulator's headers, so that an edit rebuilds everything."""
        return cls(
            gxx=str(gxx.path),
            includes=tuple(f"-I{folder}" for folder in (INCLUDE_DIR, *cutlass.include_dirs)),
            versions=(gxx.version, cutlass.version, _sources_hash()),
        )

    @property
    def compiler(self) -> tuple[str, ...]:
        """g++ with the flags that a candidate and the precompiled header must share."""
        return (self.gxx, *CXX_FLAGS)

    def shared_steps(self) -> list[BuildStep]:
        """Commands that make the precompiled header, the watcher and the machine."""
        header = BuildStep(
            output=_PRECOMPILED,
            inputs=(PRECOMPILED_HEADER,),
            argv=(
                *self.compiler,
                "-x",
                "c++-header",
                *self.includes,
                PRECOMPILED_HEADER,
                "-o",
                _PRECOMPILED,
            ),
        )
        watcher = [
            BuildStep(
                output=f"{name}.o",
                inputs=(str(CHECKS_DIR / f"{name}.cpp"),),
                argv=(
                    self.gxx,
                    *CHECKS_CXX_FLAGS,
                    *self.includes,
                    "-c",
                    str(CHECKS_DIR / f"{name}.cpp"),
                    "-o",
                    f"{name}.o",
                ),
            )
            for name in CHECKS
        ]
        return [header, *watcher]

    def candidate_steps(self, shared: Path, candidate: str, header: str) -> list[BuildStep]:
        """Commands that make the library of a candidate.

        Args:
            shared: Folder in which ``shared_steps`` have run.
            candidate: Name of the rewritten source, in the build directory.
            header: Name of the contract's header, in the build directory.
        """
        unit = object_of(candidate)
        compile_step = BuildStep(
            output=unit,
            inputs=(candidate, header),
            argv=(
                *self.compiler,
                f"-I{shared}",
                "-include",
                PRECOMPILED_HEADER,
                "-I.",
                *self.includes,
                "-c",
                candidate,
                "-o",
                unit,
            ),
        )
        # The watcher comes first: where it and the candidate both have a function of the emulator,
        # its own, which is not watched, is taken.
        objects = [str(shared / f"{name}.o") for name in CHECKS]
        flags = (*LINKER_FLAGS, *EMULATOR_LINKER_FLAGS)
        link_step = BuildStep(
            output=LIBRARY,
            inputs=(unit,),
            argv=(
                self.gxx,
                "-shared",
                "-pthread",
                *(f"-Wl,{flag}" for flag in flags),
                *objects,
                unit,
                "-o",
                LIBRARY,
            ),
        )
        return [compile_step, link_step]


def build_shared(recipe: Recipe, cache: BuildCache) -> BuildResult:
    """Make what candidates share, or find it in the cache.

    The ``library`` of the result is the precompiled header; the objects lie beside it.
    """

    def build(directory: Path) -> BuildResult:
        # g++ takes NAME.gch for `-include NAME`, and reads NAME itself when it must not
        (directory / PRECOMPILED_HEADER).write_bytes(
            (INCLUDE_DIR / PRECOMPILED_HEADER).read_bytes()
        )
        built = run_ninja(directory, recipe.shared_steps(), _TIMEOUT_S)
        if built.ending is Ending.DONE:
            return BuildResult(
                status=Status.PASSED,
                toolchain="emulator",
                library=directory / _PRECOMPILED,
                seconds=built.seconds,
            )
        status, advice = explain_failure(built, _TIMEOUT_S)
        if status is not Status.RESOURCE:  # no candidate was compiled, so none is to blame
            status = Status.ENVIRONMENT
        return BuildResult(
            status=status,
            toolchain="emulator",
            advice="g++ cannot precompile the emulator's headers on this machine: "
            + (advice or "see the log; g++ 11 or newer is needed"),
            log=built.output,
            seconds=built.seconds,
        )

    key = content_key(["precompiled", *recipe.versions, *recipe.compiler, *recipe.includes])
    return cache.get_or_build(key, build)


@cache
def _sources_hash() -> str:
    return _hash(sorted([*INCLUDE_DIR.rglob("*"), *CHECKS_DIR.rglob("*")]))


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
