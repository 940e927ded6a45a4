"""The profiler that counts: one warmed call on the timed shapes, under Nsight Compute."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from cutegen.execution.bare_job import bare_command, write_job
from cutegen.execution.memory import find_cudart
from cutegen.measurement.measure import exclusive
from cutegen.measurement.nsight.command import (
    COMMON,
    Access,
    Counted,
    counter_access,
    failure,
    run,
)
from cutegen.measurement.nsight.digest import digest
from cutegen.measurement.nsight.metrics import CHOSEN, SECTIONS
from cutegen.measurement.nsight.report import (
    KernelCounters,
    bare_name,
    parse_raw,
    parse_source,
)
from cutegen.measurement.profile import Profile, Profiler
from cutegen.measurement.timing import Measurement
from cutegen.spec import KernelSpec
from cutegen.toolchain.discovery import ToolNotFoundError, find_ncu
from cutegen.toolchain.protocol import BuildResult
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution

_MOST_KERNELS = 16
_MOST_INPUT_BYTES = 32 << 20
_WARM_UPS = 2
_IMPORT_TIMEOUT_S = 60.0
_LOG_KEPT = 16 << 10
_READ: dict[tuple[str, Path, int, tuple[str, ...]], Counted] = {}


class NsightCompute:
    """Counts what one call does, kernel by kernel, and digests it.

    The call is made in a process of its own that holds this candidate only, so that Nsight
    Compute can replay each kernel as often as it has counters to read (``--replay-mode kernel``:
    what a kernel writes is saved and restored between passes, which replaying the whole
    program would not need, but that would start it some forty times). Caches are flushed before
    each pass, as before each timed call. Large floating inputs repeat their first 32 MiB.
    """

    def __init__(
        self,
        otherwise: Profiler,
        *,
        device: int = 0,
        ncu: Path | str | None = None,
        timeout_s: float = 180.0,
        sections: Sequence[str] = SECTIONS,
        metrics: Sequence[str] = CHOSEN,
    ) -> None:
        """Keep what is needed; Nsight Compute is looked for with the first profile.

        Args:
            otherwise: Profiles where no counters can be read.
            device: CUDA device index.
            ncu: Path of Nsight Compute; found as ``find_ncu`` says when None.
            timeout_s: Limit of one call under the profiler.
            sections: Nsight Compute's sections to collect.
            metrics: Further metrics by name.
        """
        self._otherwise = otherwise
        self._device = device
        self._ncu = ncu
        self._timeout_s = timeout_s
        self._asked = (
            *(part for section in sections for part in ("--section", section)),
            *(("--metrics", ",".join(metrics)) if metrics else ()),
        )

    def profile(
        self, spec: KernelSpec, source: str, build: BuildResult, measurement: Measurement
    ) -> Profile:
        """Digest the counters; without any, the other profiler's digest, and the reason."""
        static = self._otherwise.profile(spec, source, build, measurement)
        return self.digest(spec, self.count(spec, build), measurement, static)

    @staticmethod
    def digest(
        spec: KernelSpec, counted: Counted, measurement: Measurement, static: Profile
    ) -> Profile:
        """The digest of what was counted; the static one, with the reason, when nothing was."""
        if counted.access is not Access.READ:
            why = f"no counters were read: {counted.reason}"
            why += f"; {counted.advice}" if counted.advice else ""
            return static.model_copy(update={"unknown": f"{static.unknown}; {why}".lstrip("; ")})
        return digest(spec, counted.kernels, measurement, static)

    def count(self, spec: KernelSpec, build: BuildResult, keep: Path | None = None) -> Counted:
        """Read the counters of one call; those of the same kernel are read once per process.

        Args:
            spec: The contract; its timed case is called.
            build: The candidate, built by nvcc.
            keep: A folder for Nsight Compute's report and pages.
        """
        try:
            ncu = find_ncu(self._ncu).path
        except ToolNotFoundError as error:
            return Counted(access=Access.ABSENT, reason=str(error))
        if build.library is None:
            return Counted(access=Access.FAILED, reason="there is no library: it was not built")
        key = (spec.id, build.library, self._device, self._asked)
        if keep is None and key in _READ:
            return _READ[key]
        allowed = counter_access(ncu, self._device)
        if allowed.access is not Access.READ:
            return allowed
        counted = counted_or_why(lambda: self._count(ncu, spec, build, keep))
        if counted.access is Access.READ:
            _READ[key] = counted
        return counted

    def _count(self, ncu: Path, spec: KernelSpec, build: BuildResult, keep: Path | None) -> Counted:
        assert build.library is not None
        with TemporaryDirectory(prefix="cutegen-ncu-") as scratch:
            folder = keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            with exclusive(self._device):
                status, log = self._run(ncu, spec, build.library, folder, Path(scratch))
            report = folder / "report.ncu-rep"
            if not report.is_file():
                return failure(status, log, self._timeout_s)
            pages = _Pages(ncu, report, Path(scratch))
            kernels = parse_raw(pages.read("raw"))
            if not kernels:
                return failure(status, log, self._timeout_s)
            hot = parse_source(pages.read("source"))
            kernels = tuple(
                kernel.model_copy(update={"hot": hot.get(bare_name(kernel.name), ())})
                for kernel in kernels
            )
        return _checked(kernels, build, log)

    def _run(
        self, ncu: Path, spec: KernelSpec, library: Path, folder: Path, scratch: Path
    ) -> tuple[int | None, str]:
        device = torch.device("cuda", self._device)
        inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, device)
        job = write_job(
            scratch,
            spec,
            spec.timed,
            inputs,
            {
                "library": str(library),
                "cudart": find_cudart(),
                "device": self._device,
                "warm_ups": _WARM_UPS,
            },
            most_bytes=_MOST_INPUT_BYTES,
        )
        del inputs
        torch.cuda.empty_cache()  # the call's own memory, and Nsight Compute's copy of it
        command = (
            *(ncu, *COMMON, *self._asked),
            *("--replay-mode", "kernel", "--cache-control", "all"),
            *("--profile-from-start", "off", "--launch-count", str(_MOST_KERNELS)),
            *("--import-source", "yes", "--source-folders", str(library.parent)),
            *("--force-overwrite", "--export", str(folder / "report")),
            *bare_command(job),
        )
        return run(command, scratch, self._timeout_s)


def counted_or_why(count: Callable[[], Counted]) -> Counted:
    """What ``count`` read; where it could not, FAILED with what it stumbled over."""
    try:
        return count()
    except (RuntimeError, OSError) as error:  # no room for the inputs, on the device or disk
        return Counted(access=Access.FAILED, reason=str(error))
    except (ValueError, LookupError) as error:  # another release may lay out its pages anew
        return Counted(
            access=Access.FAILED, reason=f"a page of ncu reads otherwise than known: {error!r}"
        )


class _Pages:
    """Pages of one report, as tables."""

    def __init__(self, ncu: Path, report: Path, scratch: Path) -> None:
        self._command = (ncu, *COMMON[:2], "--import", report, "--csv", "--print-units", "base")
        self._scratch = scratch

    def read(self, page: str) -> str:
        """One page's text; ``source`` shows lines with their machine code."""
        view = ("--print-source", "cuda,sass") if page == "source" else ()
        _, text = run((*self._command, "--page", page, *view), self._scratch, _IMPORT_TIMEOUT_S)
        return text


def _checked(kernels: tuple[KernelCounters, ...], build: BuildResult, log: str) -> Counted:
    """The counters, if they are those of a kernel that the build knows."""
    known = {bare_name(kernel.kernel) for kernel in build.resources}
    ours = tuple(kernel for kernel in kernels if not known or bare_name(kernel.name) in known)
    if ours:
        return Counted(access=Access.READ, kernels=ours, log=log[-_LOG_KEPT:])
    return Counted(
        access=Access.OTHER_KERNEL,
        reason=f"the call launched {', '.join(kernel.name for kernel in kernels)}, none of which "
        f"is a kernel of the candidate ({', '.join(sorted(known))})",
        log=log[-_LOG_KEPT:],
    )
