"""The emulator toolchain: g++ makes a CPU program of the same candidate."""

from pathlib import Path

from cutegen.emulator import EmulationError, rewrite
from cutegen.status import Status
from cutegen.toolchain.building import HEADER, build_library
from cutegen.toolchain.cache import BuildCache, content_key, default_cache_dir
from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx
from cutegen.toolchain.policed import policy_key, refuse_object, refuse_source
from cutegen.toolchain.precompiled import Recipe, build_shared, object_of
from cutegen.toolchain.protocol import BuildRequest, BuildResult

CANDIDATE = "candidate.cpp"
# What the emulator's machine itself asks of the system: its threads, fibers and settings.
_OWN_IMPORTS = frozenset(
    {
        "getenv",
        "mmap",
        "munmap",
        "mprotect",
        "pthread_mutex_lock",
        "pthread_mutex_unlock",
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
        "_ZNSt6thread20hardware_concurrencyEv",
        "_ZNSt6thread4joinEv",
        "_ZNSt6thread6_StateD2Ev",
    }
)


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
        police: bool = True,
    ) -> None:
        """Choose tools; nothing is looked for before the first build.

        Args:
            gxx: Path of g++; found as ``find_gxx`` says when None.
            cutlass: Root of CUTLASS; found as ``find_cutlass`` says when None.
            cache_dir: Where results are kept; ``CUTEGEN_CACHE`` or the user's cache when None.
            timeout_s: Wall-clock limit of one build in seconds.
            police: Refuse what ``cutegen.source_policy`` names; off in tests of the boundary.
        """
        self._gxx = gxx
        self._cutlass = cutlass
        self._cache = BuildCache(cache_dir or default_cache_dir(), self.name)
        self._timeout_s = timeout_s
        self._police = police

    def build(self, request: BuildRequest) -> BuildResult:
        """Build, or return the cached result. Never raises for what the source did."""
        if self._police and (refused := refuse_source(request.source, self.name)):
            return refused
        try:
            gxx, cutlass = find_gxx(self._gxx), find_cutlass(self._cutlass)
            rewritten = rewrite(request.source)
        except (ToolNotFoundError, EmulationError) as error:
            return BuildResult(status=Status.ENVIRONMENT, toolchain=self.name, advice=str(error))
        recipe = Recipe.of(gxx, cutlass)

        def build(directory: Path) -> BuildResult:
            shared = build_shared(recipe, self._cache)
            if shared.library is None:
                return shared
            (directory / CANDIDATE).write_text(rewritten, encoding="utf-8")
            (directory / HEADER).write_text(request.header, encoding="utf-8")
            result = build_library(
                directory,
                recipe.candidate_steps(shared.library.parent, CANDIDATE, HEADER),
                toolchain=self.name,
                source=request.source,
                candidate=CANDIDATE,
                timeout_s=self._timeout_s,
            )
            result = result.model_copy(
                update={"versions": {"g++": gxx.version, "cutlass": cutlass.version}}
            )
            if not self._police:
                return result
            unit = directory / object_of(CANDIDATE)
            return refuse_object(result, unit, request.source, also=_OWN_IMPORTS)

        key = content_key(
            [
                rewritten,
                request.header,
                policy_key(police=self._police),
                *recipe.versions,
                *recipe.compiler,
            ]
        )
        return self._cache.get_or_build(key, build)
