"""The emulator toolchain: g++ makes a CPU program of the same candidate."""

from pathlib import Path

from cutegen.emulator import EmulationError, rewrite
from cutegen.status import Status
from cutegen.toolchain.building import HEADER, build_library
from cutegen.toolchain.cache import BuildCache, content_key, default_cache_dir
from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx
from cutegen.toolchain.precompiled import Recipe, build_shared
from cutegen.toolchain.protocol import BuildRequest, BuildResult

CANDIDATE = "candidate.cpp"


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
            return result.model_copy(
                update={"versions": {"g++": gxx.version, "cutlass": cutlass.version}}
            )

        key = content_key([rewritten, request.header, *recipe.versions, *recipe.compiler])
        return self._cache.get_or_build(key, build)
