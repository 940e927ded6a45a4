"""A candidate kernel: one .cu source with a parent, an author and an intent."""

import hashlib

from cutegen.frozen import Frozen


class Candidate(Frozen):
    """One version of the kernel. ``source`` is the id of its text in the store."""

    id: str
    source: str
    parent: str = ""
    author: str
    intent: str


def candidate_id(source: str, spec_id: str) -> str:
    """Content hash of a source and the spec it was written for."""
    return hashlib.sha256(f"{spec_id}\0{source}".encode()).hexdigest()[:16]
