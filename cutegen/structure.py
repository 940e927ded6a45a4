"""The structure fingerprint: a kernel's design without its numbers."""

from pydantic import JsonValue

from cutegen.cuda_syntax import CudaSource
from cutegen.frozen import Frozen
from cutegen.structure_features import features
from cutegen.toolchain.protocol import BuildResult


class Fingerprint(Frozen):
    """Design decisions read from the source; ``parameters`` holds the numbers apart.

    Two fingerprints are the same structure when their ``features`` are equal.
    """

    features: dict[str, str]
    parameters: dict[str, JsonValue] = {}

    def same_structure(self, other: "Fingerprint") -> bool:
        """Whether both describe one design, whatever the parameters."""
        return self.features == other.features


def fingerprint(source: str, build: BuildResult | None = None) -> Fingerprint:
    """Read the design of a CUDA source.

    Comments, formatting, the author's names and the numbers do not change the features. The
    parameters are the integers that the source knows at compile time, by name, and for each
    launch ``launch<i>.threads`` and ``launch<i>.dynamic_smem_bytes`` where they are known.

    Args:
        source: CUDA C++, which may hold errors.
        build: What the compiler said of it; it reveals shared memory that a library declares.
    """
    parsed = CudaSource(source)
    found = features(parsed)
    if found["smem"] == "none" and build is not None:
        hidden = any(kernel.static_smem_bytes for kernel in build.resources)
        found["smem"] = "static" if hidden else "none"
    parameters: dict[str, JsonValue] = dict(parsed.parameters)
    for index, launch in enumerate(parsed.launches):
        for name, number in launch._asdict().items():
            if number is not None:
                parameters[f"launch{index}.{name}"] = number
    return Fingerprint(features=found, parameters=parameters)


def describe_change(old: Fingerprint, new: Fingerprint) -> str:
    """What a step changed, in one line: features first, then parameters.

    For example ``copies: scalar → vectorized-128; parameters: kThreads 256→512``.
    """
    parts = [
        f"{name}: {old.features.get(name, 'none')} → {value}"
        for name, value in new.features.items()
        if old.features.get(name) != value
    ]
    numbers = [
        f"{name} {_shown(old.parameters.get(name))}→{_shown(new.parameters.get(name))}"
        for name in {**old.parameters, **new.parameters}
        if old.parameters.get(name) != new.parameters.get(name)
    ]
    if numbers:
        parts.append(f"parameters: {', '.join(numbers)}")
    return "; ".join(parts) or "no change of structure or parameters"


def _shown(value: JsonValue) -> str:
    return "none" if value is None else str(value)
