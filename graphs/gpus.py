"""The GPUs that a suite's members are spread over: each sees one, and measures alone on it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from cutegen.measurement.devices import VISIBLE, visible_names


def gpus_here() -> tuple[str, ...]:
    """The GPUs of this process, as ``CUDA_VISIBLE_DEVICES`` calls them; none without a driver."""
    return visible_names(torch.cuda.device_count() if torch.cuda.is_available() else 0)


class Gpus:
    """Lends GPUs, the one with the fewest borrowers first."""

    def __init__(self, names: Sequence[str]) -> None:
        """Lend the GPUs of these names."""
        self._borrowers = dict.fromkeys(names, 0)
        self._lock = threading.Lock()

    @contextmanager
    def environment(self) -> Iterator[dict[str, str]]:
        """What a process must find in its environment to see one GPU; nothing to choose: empty."""
        if len(self._borrowers) < 2:  # noqa: PLR2004 - one is no choice
            yield {}
            return
        with self._lock:
            name = min(self._borrowers, key=self._borrowers.__getitem__)
            self._borrowers[name] += 1
        try:
            yield {VISIBLE: name}
        finally:
            with self._lock:
                self._borrowers[name] -= 1
