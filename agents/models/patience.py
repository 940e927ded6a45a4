"""Which faults of a model's service pass by themselves, and how long to wait for that.

The client's own retries are off: it cannot repeat a stream that broke off, and tells nobody.
"""

from collections.abc import Callable
from time import sleep
from typing import TypeVar

import httpx
import openai

from cutegen.agents.models.progress import Progress, TriedAgain

AnswerT = TypeVar("AnswerT")

RETRIES = 3
_FIRST_WAIT_S = 0.5  # doubled each time, unless the service names a time
_LONGEST_WAIT_S = 120.0  # a service that asks for more has used up a quota, not a moment
_QUOTE_LIMIT = 200
_OVERLOADED = 500  # and above
_PASSING_STATUSES = (408, 409, 425, 429)
BROKEN = (openai.APIConnectionError, httpx.TransportError)
"""No whole answer came: refused, dropped, or cut by a time limit."""


def patiently(ask: Callable[[], AnswerT], tell: Callable[[Progress], None]) -> AnswerT:
    """Ask, and ask again while the fault is a passing one, at most ``RETRIES`` times.

    Raises:
        openai.OpenAIError, httpx.TransportError: The fault is none that passes, or it stays.
    """
    for retry in range(RETRIES):
        try:
            return ask()
        except (openai.APIError, httpx.TransportError) as error:
            wait_s = _wait_s(error, retry)
            if wait_s is None:
                raise
            reason = f"{type(error).__name__}: {error}"[:_QUOTE_LIMIT]
            tell(TriedAgain(reason=reason, wait_s=wait_s))
            sleep(wait_s)
    return ask()


def _wait_s(error: Exception, retry: int) -> float | None:
    """Seconds until the next try; None where another try would not help."""
    usual = _FIRST_WAIT_S * float(2**retry)
    if isinstance(error, BROKEN):
        return usual
    if not isinstance(error, openai.APIStatusError):
        return None
    if error.status_code not in _PASSING_STATUSES and error.status_code < _OVERLOADED:
        return None
    named = _retry_after_s(error.response.headers.get("retry-after"))
    if named is None:
        return usual
    return named if named <= _LONGEST_WAIT_S else None


def _retry_after_s(header: str | None) -> float | None:
    """Seconds that the header names; a date, which few services send, counts as none."""
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:
        return None
