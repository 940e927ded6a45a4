"""compute-sanitizer on the kernels that would be taken, beside what else is done with them."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cutegen.execution.sanitized import tools_for
from cutegen.execution.sanitizers import TOOLS, SanitizerReport, Sanitizing
from cutegen.spec import KernelSpec
from cutegen.toolchain.discovery import ToolNotFoundError, find_sanitizer
from cutegen.toolchain.protocol import BuildResult
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution

_REMEMBERED = 256

_Key = tuple[str, str, int]


class Examination:
    """The tools at work on one kernel, or what they once found."""

    def __init__(self, running: Sanitizing | SanitizerReport) -> None:
        """Wait for nothing."""
        self._running = running

    def report(self) -> SanitizerReport:
        """What was found, once all tools have ended."""
        if isinstance(self._running, Sanitizing):
            self._running = self._running.finish()
        return self._running

    @property
    def finished(self) -> SanitizerReport | None:
        """The report, if somebody has waited for it."""
        return None if isinstance(self._running, Sanitizing) else self._running


class Examiner:
    """Runs the tools on the smallest case of a kernel, each kernel once."""

    def __init__(self, cudart: str, device: int) -> None:
        """Examine on one device.

        Args:
            cudart: Path of libcudart.
            device: CUDA device index.
        """
        self._cudart = cudart
        self._device = device
        self._reports: OrderedDict[_Key, SanitizerReport] = OrderedDict()

    @contextmanager
    def examining(
        self, spec: KernelSpec, source: str, build: BuildResult, seed: int
    ) -> Iterator[Examination]:
        """Start the tools; whoever does not ask for the report ends them by leaving.

        Their processes use the device: nothing may be timed meanwhile.
        """
        assert build.library is not None
        key = (str(build.library), spec.id, seed)
        known = self._reports.get(key)
        if known is not None:
            yield Examination(known)
            return
        try:
            sanitizer = find_sanitizer().path
        except ToolNotFoundError as error:
            yield Examination(SanitizerReport(skipped=dict.fromkeys(TOOLS, str(error))))
            return
        case = min((*spec.checks, spec.timed), key=lambda case: case.nbytes)
        with Sanitizing(
            sanitizer,
            spec,
            case,
            draw_inputs(spec, case, Distribution.NORMAL, seed, torch.device("cpu")),
            build.library,
            cudart=self._cudart,
            device=self._device,
            tools=tools_for(source),
        ) as running:
            examination = Examination(running)
            yield examination
        if examination.finished is not None:
            self._reports[key] = examination.finished
            if len(self._reports) > _REMEMBERED:
                self._reports.popitem(last=False)
