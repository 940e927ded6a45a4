"""The KernelBench level 1 tasks in this repository, and the ladder of designs for each."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from cutegen.agents.models.playbook.library import playbook_for
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult

LEVEL1 = Path(__file__).resolve().parents[1] / "kernelbench" / "level1"
ARCH = "sm_90a"


def task_files(wanted: str) -> dict[int, Path]:
    """The files of tasks such as ``19-32`` or ``1,3,23-24``, by number.

    Raises:
        ValueError: ``wanted`` is no such list, or a task is not in the repository.
    """
    present = {int(path.stem.split("_")[0]): path for path in LEVEL1.glob("*.py")}
    numbers: list[int] = []
    for part in wanted.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    if missing := [number for number in numbers if number not in present]:
        raise ValueError(f"there is no file in {LEVEL1} for: {', '.join(map(str, missing))}")
    return {number: present[number] for number in numbers}


def ladder(spec: KernelSpec) -> list[str]:
    """The sources of the playbook's designs for a spec, from the plain to the full one."""
    playbook = playbook_for(spec, ARCH)
    return [playbook.render(design) for design in playbook.climb()]


class Prebuilt:
    """A toolchain that takes what another machine built for the same source, else builds.

    A device machine's seconds are few; nvcc needs none of them. The folder holds a library
    and a result per source and header.
    """

    name = "nvcc"

    def __init__(self, folder: Path | None, arch: str = ARCH) -> None:
        """Look in ``folder``, when there is one, before building for ``arch``."""
        self._folder = folder
        self._nvcc = NvccToolchain(arch=arch)

    def build(self, request: BuildRequest) -> BuildResult:
        """The kept result, or a new one."""
        if self._folder is not None:
            kept = self._folder / f"{_key(request)}.json"
            if kept.exists():
                result = BuildResult.model_validate_json(kept.read_text(encoding="utf-8"))
                library = kept.with_suffix(".so").absolute()
                return result.model_copy(update={"library": library, "cached": True})
        return self._nvcc.build(request)


def prebuild(spec: KernelSpec, sources: Iterable[str], folder: Path) -> list[BuildResult]:
    """Build sources into ``folder``, where ``Prebuilt`` finds them."""
    folder.mkdir(parents=True, exist_ok=True)
    header = args_header(spec)
    results = []
    for source in sources:
        request = BuildRequest(source=source, header=header)
        results.append(result := NvccToolchain(arch=ARCH).build(request))
        if result.status is Status.PASSED and result.library is not None:
            target = folder / f"{_key(request)}.so"
            target.write_bytes(result.library.read_bytes())
            kept = result.model_copy(update={"library": None, "log": ""})
            target.with_suffix(".json").write_text(kept.model_dump_json(), encoding="utf-8")
    return results


def _key(request: BuildRequest) -> str:
    return hashlib.sha256(f"{request.header}\0{request.source}".encode()).hexdigest()[:24]
