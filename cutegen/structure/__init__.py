"""The structure fingerprint: a kernel's design without its numbers."""

from cutegen.structure.change import describe_change
from cutegen.structure.model import HIDDEN, VERSION, Fingerprint
from cutegen.structure.reading import fingerprint

__all__ = ["HIDDEN", "VERSION", "Fingerprint", "describe_change", "fingerprint"]
