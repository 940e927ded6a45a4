"""The build cache: one directory per content hash, published whole or not at all."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs
from filelock import FileLock
from pydantic import ValidationError

from cutegen.frozen import Frozen
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult

_ENTRY = "result.json"
# what says more about the machine at that moment than about the source is tried again
_NOT_CACHED = frozenset({Status.RESOURCE, Status.ENVIRONMENT, Status.TIMEOUT})


class _Entry(Frozen):
    """What is written beside a library; its hash tells a damaged one."""

    result: BuildResult
    sha256: str = ""


def default_cache_dir() -> Path:
    """Where CuTeGen keeps what it need not find out twice: ``CUTEGEN_CACHE``, or the user's."""
    named = os.environ.get("CUTEGEN_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("cutegen")


def content_key(parts: Sequence[str]) -> str:
    """Hash of everything a build depends on."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:32]


class BuildCache:
    """Results by key. Safe against other processes and against being killed at any moment."""

    def __init__(self, folder: Path, toolchain: str) -> None:
        """Keep the results of one toolchain under ``folder``, which is made when needed."""
        self._root = folder.absolute() / toolchain
        self._toolchain = toolchain

    def get_or_build(self, key: str, build: Callable[[Path], BuildResult]) -> BuildResult:
        """Return the cached result for ``key``, or call ``build`` with a fresh directory.

        The directory is renamed into place once its result is written; ``library`` is
        rewritten to the final place. Two processes that want one key build it once.
        A folder that cannot be written is an ENVIRONMENT result.
        """
        entry = self._root / key
        if (cached := _read(entry)) is not None:
            return cached
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{entry}.lock"):
                return _read(entry) or self._build(entry, build)
        except OSError as error:
            return BuildResult(
                status=Status.ENVIRONMENT,
                toolchain=self._toolchain,
                advice=f"cannot build in {self._root}: {error}; set CUTEGEN_CACHE to a folder "
                "that can be written and has free space",
            )

    def _build(self, entry: Path, build: Callable[[Path], BuildResult]) -> BuildResult:
        """Build while the key's lock is held."""
        for left_by_a_killed_process in self._root.glob(f"{entry.name}.*/"):
            shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{entry.name}.", dir=self._root))
        try:
            return _publish(build(fresh), fresh, entry)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _read(entry: Path) -> BuildResult | None:
    """The result kept at ``entry``; None when there is none or it is damaged."""
    try:
        kept = _Entry.model_validate_json((entry / _ENTRY).read_text(encoding="utf-8"))
        library = kept.result.library and entry / kept.result.library.name
        if library and _sha256(library) != kept.sha256:
            return None
    except (OSError, ValidationError, UnicodeDecodeError):
        return None
    return kept.result.model_copy(update={"cached": True, "library": library})


def _publish(result: BuildResult, fresh: Path, entry: Path) -> BuildResult:
    if result.status in _NOT_CACHED:
        return result
    library = result.library
    kept = _Entry(result=result, sha256=_sha256(library) if library else "")
    (fresh / _ENTRY).write_text(kept.model_dump_json(), encoding="utf-8")
    shutil.rmtree(entry, ignore_errors=True)  # a damaged entry, or none
    fresh.rename(entry)
    return result.model_copy(update={"library": library and entry / library.name})


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
