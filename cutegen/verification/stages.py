"""Where a verification's seconds go: so that the slow part is known, not guessed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


class Stages:
    """Seconds by stage. Stages do not nest; on a GPU each ends when its work has ended."""

    def __init__(self, device: torch.device) -> None:
        """Nothing spent yet."""
        self._wait: Callable[[], None] = (
            torch.cuda.synchronize if device.type == "cuda" else lambda: None
        )
        self.seconds: dict[str, float] = {}

    @contextmanager
    def spent_on(self, stage: str) -> Iterator[None]:
        """Count the time of the body under ``stage``, failed or not."""
        began = time.perf_counter()
        try:
            yield
            self._wait()
        finally:
            spent = time.perf_counter() - began
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
