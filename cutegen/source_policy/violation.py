"""One thing that a candidate may not do, at a line of its source."""

from typing import NamedTuple


class Violation(NamedTuple):
    """``line`` is 1-based, 0 where no line is known; ``advice`` says what to do instead."""

    line: int
    what: str
    advice: str
