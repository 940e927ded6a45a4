"""PyTorch's baseline processes of one device, kept from one measurement to the next.

Importing PyTorch takes such a process seconds, and the next candidate of a run is timed beside
the same reference: a process that has done its part waits for the next one.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cutegen.measurement.baselines import Baseline, Variant
from cutegen.spec import KernelSpec

_KEPT_SHARE = 1 / 16  # of the device's memory; a reference that fills more is loaded each time


class Standby:
    """At most one waiting process per variant; each is used by one measurement at a time."""

    def __init__(self, device: int) -> None:
        """Start nothing yet.

        Args:
            device: CUDA device index.
        """
        self._device = device
        self._waiting: dict[Variant, Baseline] = {}
        self._lock = threading.Lock()
        # A process dies with the thread that started it, and callers' threads come and go.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="cutegen-baselines")

    def prepare(self, variant: Variant = "eager") -> None:
        """Start a process unless one waits; this waits for nothing."""
        with self._lock:
            waiting = self._waiting.get(variant)
            if waiting is None or not waiting.alive:
                self._waiting[variant] = self._started()

    @contextmanager
    def up(self, variant: Variant = "eager", timeout_s: float = 60.0) -> Iterator[Baseline]:
        """A process that is up. One that failed, or was interrupted, does not wait again.

        Args:
            variant: What it will run, or has run.
            timeout_s: Limit of one timed call.

        Raises:
            BaselineError: It did not come up.
        """
        with self._lock:
            found = self._waiting.pop(variant, None)
            if found is None or not found.alive:
                found = self._started()
        found.timeout_s = timeout_s
        try:
            found.__enter__()
            yield found
        except Exception:
            self._keep(variant, found)
            raise
        except BaseException:  # perhaps in the midst of a request
            found.close()
            raise
        self._keep(variant, found)

    @contextmanager
    def loaded(
        self, spec: KernelSpec, variant: Variant = "eager", *, seed: int = 0, timeout_s: float
    ) -> Iterator[Baseline]:
        """The same, with the reference loaded: at once where it is still loaded from before.

        Raises:
            BaselineError: It did not come up, or the reference does not run there.
        """
        with self.up(variant, timeout_s) as baseline:
            baseline.load(spec, variant, seed)
            yield baseline
            large = spec.timed.nbytes > _KEPT_SHARE * float(str(baseline.facts["memory_bytes"]))
            if large and baseline.alive:
                baseline.unload()

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for baseline in waiting.values():
            baseline.close()
        self._starter.shutdown()

    def _started(self) -> Baseline:
        return self._starter.submit(Baseline, self._device).result()

    def _keep(self, variant: Variant, baseline: Baseline) -> None:
        with self._lock:
            other = self._waiting.get(variant)
            if baseline.alive and (other is None or not other.alive):
                self._waiting[variant] = baseline
                return
        baseline.close()
