"""One GPU and its toolchain: kernels are built for it, and loaded in worker processes on it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cutegen.execution.cudart import CudaError, CudaRuntime
from cutegen.execution.evaluation import failed_build
from cutegen.execution.memory import CudaArena, find_cudart
from cutegen.execution.protocol import EnvironmentUnfitError
from cutegen.execution.session import arena_bytes
from cutegen.execution.timed_session import TimedSession
from cutegen.kernel import args_header
from cutegen.measurement.sampling import SampleFailedError
from cutegen.spec import Case, KernelSpec
from cutegen.status import Status
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution

_ARCHITECTURE_SPECIFIC = 9  # from sm_90 on, wgmma and TMA need the target's "a" variant
_NAME = "cuda"


class CudaBench:
    """Where kernels are loaded. ``device`` is the CUDA device index, ``cudart`` a path."""

    def __init__(self, toolchain: Toolchain | None, device: int, *, police: bool) -> None:
        """Take the device in use.

        Args:
            toolchain: Builds candidates; an ``NvccToolchain`` for the device if None.
            device: CUDA device index.
            police: For the default toolchain: refuse what ``cutegen.source_policy`` names.

        Raises:
            EnvironmentUnfitError: There is no such device, or PyTorch cannot use it.
        """
        if not torch.cuda.is_available() or device >= torch.cuda.device_count():
            raise EnvironmentUnfitError(
                f"PyTorch sees no CUDA device {device}: check nvidia-smi and that torch is a CUDA "
                "build, or use --executor emulated"
            )
        self.device = device
        try:
            self.cudart = find_cudart()
            self._runtime = CudaRuntime(self.cudart, device)
        except (OSError, CudaError, RuntimeError) as error:
            raise EnvironmentUnfitError(f"the CUDA runtime cannot be used: {error}") from error
        self._toolchain = toolchain or NvccToolchain(arch=architecture(device), police=police)

    @property
    def torch_device(self) -> torch.device:
        """The device as PyTorch names it."""
        return torch.device("cuda", self.device)

    def built(self, spec: KernelSpec, source: str) -> BuildResult:
        """Build for the device; cached."""
        return self._toolchain.build(BuildRequest(source=source, header=args_header(spec)))

    def opened(
        self, spec: KernelSpec, build: BuildResult, cases: tuple[Case, ...], timeout_s: float
    ) -> TimedSession:
        """A session, not yet entered, with memory for every one of ``cases``.

        Raises:
            CudaError: The device has no such memory, among others.
        """
        assert build.library is not None
        torch.cuda.empty_cache()  # PyTorch's reserve is of no use to cudaMalloc
        return TimedSession(
            spec,
            build.library,
            CudaArena(self._runtime, arena_bytes(cases)),
            timeout_s=timeout_s,
            cudart=self.cudart,
            device=self.device,
        )

    @contextmanager
    def timed(
        self, spec: KernelSpec, source: str, *, seed: int = 0, timeout_s: float = 60.0
    ) -> Iterator[TimedSession]:
        """A fresh worker that holds one kernel and the timed case, launched once.

        Args:
            spec: What the kernel implements.
            source: The kernel.
            seed: Seed of the inputs.
            timeout_s: Limit of one launch.

        Raises:
            SampleFailedError: It could not be built, loaded or launched.
        """
        build = self.built(spec, source)
        if build.status is not Status.PASSED:
            raise SampleFailedError(failed_build(_NAME, build).evidence.summary)
        with self.opened(spec, build, (spec.timed,), timeout_s) as session:
            inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, seed, self.torch_device)
            run = session.run(spec.timed, inputs, session.schedules[0])
            del inputs
            if run.failure is not None:
                raise SampleFailedError(run.failure.summary)
            yield session


def architecture(device: int) -> str:
    """The nvcc target of a device, such as ``sm_90a``."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if major >= _ARCHITECTURE_SPECIFIC else "")
