"""Reading the fingerprint of a source."""

from cutegen.cuda_syntax import CudaSource
from cutegen.structure.features import features, parameters
from cutegen.structure.machine import completed, contradictions, machine_code
from cutegen.structure.model import VERSION, Fingerprint
from cutegen.toolchain.protocol import BuildResult


def fingerprint(source: str, build: BuildResult | None = None) -> Fingerprint:
    """Read the design of a CUDA source.

    Comments, formatting, the author's names and the numbers do not change the features. Nor does
    a build, but for features that a library hides: ``cutegen.structure.machine`` says the rule.

    Args:
        source: CUDA C++, which may hold errors.
        build: What the compiler made of it.
    """
    parsed = CudaSource(source)
    found = features(parsed)
    code = machine_code(build)
    return Fingerprint(
        features=completed(found, code),
        parameters=parameters(parsed),
        version=VERSION,
        contradicted=contradictions(found, code),
    )
