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

from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult

_RESULT = "result.json"
# what says more about the machine at that moment than about the source is tried again
_NOT_CACHED = frozenset({Status.RESOURCE, Status.ENVIRONMENT, Status.TIMEOUT})


def default_cache_dir() -> Path:
    """``CUTEGEN_CACHE``, or the user's cache folder."""
    named = os.environ.get("CUTEGEN_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("cutegen")


def content_key(parts: Sequence[str]) -> str:
    """Hash of everything a build depends on."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:32]


class BuildCache:
    """Results by key. Safe against other processes and against being killed at any moment."""

    def __init__(self, root: Path) -> None:
        """Keep results under ``root``, which is made when needed."""
        self._root = root

    def get_or_build(self, key: str, build: Callable[[Path], BuildResult]) -> BuildResult:
        """Return the cached result for ``key``, or call ``build`` with a fresh directory.

        The directory is renamed into place once its result is written; ``library`` is
        rewritten to the final place. Two processes that want one key build it once.
        """
        entry = self._root / key
        if (cached := _read(entry)) is not None:
            return cached
        self._root.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{entry}.lock"):
            if (cached := _read(entry)) is not None:
                return cached
            fresh = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=self._root))
            try:
                return _publish(build(fresh), fresh, entry)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)


def _read(entry: Path) -> BuildResult | None:
    """The result kept at ``entry``; None when there is none or it is damaged."""
    try:
        result = BuildResult.model_validate_json((entry / _RESULT).read_text())
    except (OSError, ValidationError):
        return None
    if result.library is None:
        return result.model_copy(update={"cached": True})
    library = entry / result.library.name
    if not library.is_file():
        return None
    return result.model_copy(update={"cached": True, "library": library})


def _publish(result: BuildResult, fresh: Path, entry: Path) -> BuildResult:
    if result.status in _NOT_CACHED:
        return result
    (fresh / _RESULT).write_text(result.model_dump_json())
    shutil.rmtree(entry, ignore_errors=True)  # a damaged entry, or none
    fresh.rename(entry)
    if result.library is None:
        return result
    return result.model_copy(update={"library": entry / result.library.name})
