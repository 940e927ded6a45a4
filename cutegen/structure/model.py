"""What a fingerprint is, and when two of them are one structure."""

from pydantic import JsonValue

from cutegen.frozen import Frozen

VERSION = 3
"""Of the rules that read features: fingerprints of different versions cannot be compared."""

HIDDEN = "hidden"
"""The value of a feature that a library decides, where no machine code was there to show it."""


class Fingerprint(Frozen):
    """Design decisions read from the source; ``parameters`` holds the numbers apart.

    Attributes:
        features: The same names for every source; a value such as ``cp.async+ldmatrix`` joins
            several kinds by ``+``.
        parameters: Numbers by name: the author's constants, ``launch<i>.threads`` and
            ``launch<i>.dynamic_smem_bytes``, ``mma.shape``, ``swizzle.bits``, ``cluster.shape``.
        version: Of the rules that read it; 1 in runs that were recorded before there were versions.
        contradicted: Sentences: what the machine code does otherwise than the source says. They
            depend on a build being there, so they are no part of any comparison.
    """

    features: dict[str, str]
    parameters: dict[str, JsonValue] = {}
    version: int = 1
    contradicted: tuple[str, ...] = ()

    def same_structure(self, other: "Fingerprint") -> bool:
        """Whether both describe one design, whatever the parameters.

        A hidden feature is neither equal nor unequal to another, so that a kernel is the same
        with its machine code and without it.
        """
        names = self.features.keys() | other.features.keys()
        return not any(_differs(self.features.get(n), other.features.get(n)) for n in names)


def _differs(old: str | None, new: str | None) -> bool:
    return old != new and HIDDEN not in (old, new)
