"""Reading the fingerprint of a source."""

from cutegen.cuda_syntax import CudaSource
from cutegen.structure.features import features, parameters
from cutegen.structure.model import HIDDEN, VERSION, Fingerprint
from cutegen.toolchain.protocol import BuildResult


def fingerprint(source: str, build: BuildResult | None = None) -> Fingerprint:
    """Read the design of a CUDA source.

    Comments, formatting, the author's names and the numbers do not change the features.

    Args:
        source: CUDA C++, which may hold errors.
        build: What the compiler made of it.
    """
    parsed = CudaSource(source)
    found = features(parsed)
    if found["smem"] == HIDDEN and build is not None and build.resources:
        declared = any(kernel.static_smem_bytes for kernel in build.resources)
        found["smem"] = "static" if declared else "none"
    return Fingerprint(features=found, parameters=parameters(parsed), version=VERSION)
