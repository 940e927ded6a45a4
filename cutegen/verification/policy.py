"""How much is checked of a candidate."""

from cutegen.frozen import Frozen
from cutegen.verification.inputs import Distribution


class VerificationPolicy(Frozen):
    """The first check sees every distribution, the others zero-mean data and one more each.

    ``repeats`` counts further runs on equal inputs at the first check; every other case gets
    one. ``edges`` and ``exact`` say whether the candidate's own tile edges are checked, and
    whether references that allow it are checked to the bit.
    """

    distributions: tuple[Distribution, ...] = tuple(Distribution)
    repeats: int = 2
    edges: bool = True
    exact: bool = True
