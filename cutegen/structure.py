"""The structure fingerprint: a kernel's design without its numbers."""

from pydantic import JsonValue

from cutegen.frozen import Frozen


class Fingerprint(Frozen):
    """Design decisions read from the source; ``parameters`` holds the numbers apart.

    Two fingerprints are the same structure when their ``features`` are equal.
    """

    features: dict[str, str]
    parameters: dict[str, JsonValue] = {}

    def same_structure(self, other: "Fingerprint") -> bool:
        """Whether both describe one design, whatever the parameters."""
        return self.features == other.features
