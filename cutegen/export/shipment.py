"""What is to be shipped: a verified kernel, built for its GPU where that is possible."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cutegen.kernel import args_header
from cutegen.result import SPEC_FILE, RunResult
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.nvcc import DEFAULT_ARCH, NvccToolchain, nvcc_flags
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.verdict import Verdict


@dataclass(frozen=True)
class Shipment:
    """A kernel with all that a machine without CuTeGen needs to run it.

    ``libraries`` maps ``arch``, and ``cpu`` for an emulated build, to shared objects; it is
    empty where none could be built, and nvcc then builds at the first call.
    """

    spec: KernelSpec
    source: str
    candidate: str
    arch: str
    verdict: Verdict | None = None
    speedup: float | None = None
    libraries: Mapping[str, Path] = field(default_factory=dict)

    @property
    def header(self) -> str:
        """The text of ``cutegen_args.h``."""
        return args_header(self.spec)

    @property
    def nvcc_flags(self) -> tuple[str, ...]:
        """How nvcc builds it, but for the places of CUTLASS."""
        return nvcc_flags(self.arch)


def shipment_of(
    result: RunResult, *, arch: str = "", cpu: Toolchain | None = None, nvcc: bool = True
) -> Shipment:
    """The best kernel of a run, built for shipping.

    Args:
        result: A run that found a kernel.
        arch: The GPU to build for; the run's own if empty.
        cpu: Also build with this (emulated) toolchain, so that CPU tensors work.
        nvcc: Build for the GPU here, if nvcc is here.

    Raises:
        ValueError: The run has no verified kernel, or a build failed.
    """
    best = result.best
    if best is None:
        raise ValueError(
            f"run {result.run_id} has no verified kernel to ship ({result.status}: {result.reason})"
        )
    spec = KernelSpec.model_validate_json((result.run_dir / SPEC_FILE).read_text())
    arch = arch or str(result.environment.get("arch") or DEFAULT_ARCH)
    request = BuildRequest(source=best.source, header=args_header(spec))
    toolchains: dict[str, Toolchain] = {}
    if nvcc:
        toolchains[arch] = NvccToolchain(arch)
    if cpu is not None:
        toolchains["cpu"] = cpu
    libraries: dict[str, Path] = {}
    for name, toolchain in toolchains.items():
        built = toolchain.build(request)
        if built.library is not None:
            libraries[name] = built.library
        elif built.status is not Status.ENVIRONMENT:
            raise ValueError(f"the kernel does not build for {name}:\n{built.log[-2000:]}")
    return Shipment(
        spec=spec,
        source=best.source,
        candidate=best.id,
        arch=arch,
        verdict=best.verdict,
        speedup=best.speedup,
        libraries=libraries,
    )
