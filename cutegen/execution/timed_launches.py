"""Timing a loaded candidate inside its worker: single cold calls, and what a short call costs.

Like the worker, this imports the standard library only.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from statistics import median
from typing import Any

from cutegen.execution.cudart import (
    L2_CACHE_SIZE_ATTRIBUTE,
    PERSISTING_L2_SIZE_ATTRIBUTE,
    CudaError,
    CudaRuntime,
)
from cutegen.execution.graph_kernels import graph_kernels
from cutegen.measurement.flush import flush_bytes

GRAPH_LAUNCHES = 20
_REPEATS = 50
_WARM_UP = 10
_TRACE_REPEATS = 5


class LaunchRefusedError(RuntimeError):
    """``cutegen_launch`` returned an error; ``code`` is its ``cudaError_t``."""

    def __init__(self, code: int) -> None:
        """Keep the code."""
        super().__init__(f"cutegen_launch returned {code}")
        self.code = code


class TimedLaunches:
    """Times one candidate on one stream. Every method raises ``CudaError`` for its faults."""

    def __init__(self, runtime: CudaRuntime, stream: int, launch: Callable[[], int]) -> None:
        """Provide events and the flush buffer.

        Args:
            runtime: The device's runtime.
            stream: The stream that the candidate gets.
            launch: Calls ``cutegen_launch`` once; returns its ``cudaError_t``.
        """
        self._cuda = runtime
        self._stream = stream
        self._launch = launch
        self._start = runtime.event()
        self._stop = runtime.event()
        self._flush_size = flush_bytes(runtime.attribute(L2_CACHE_SIZE_ATTRIBUTE))
        self._flush = runtime.allocate(self._flush_size)
        self._pins_lines = runtime.attribute(PERSISTING_L2_SIZE_ATTRIBUTE) > 0

    def cold(self) -> tuple[float, float]:
        """Time one call on a cold L2, by events around it alone.

        Returns:
            Microseconds between the events, and how many more the device stayed busy after
            the second one: work that was put elsewhere than on the stream shows up there.

        Raises:
            LaunchRefusedError: The candidate returned an error.
        """
        cuda = self._cuda
        if self._pins_lines:
            cuda.reset_persisting_l2()  # lines that a candidate pinned would outlive the flush
        cuda.fill(self._flush, 0, self._flush_size, self._stream)
        cuda.record(self._start, self._stream)
        self._call()
        cuda.record(self._stop, self._stream)
        cuda.wait(self._stop)
        stopped = time.perf_counter()
        cuda.synchronize()
        residual = (time.perf_counter() - stopped) * 1e6
        return cuda.elapsed_us(self._start, self._stop), residual

    def call_us(self) -> float:
        """Median of the host's wall clock around one call and its completion, cache warm."""
        for _ in range(_WARM_UP):
            self._call()
        self._cuda.synchronize()
        times = []
        for _ in range(_REPEATS):
            began = time.perf_counter()
            self._call()
            self._cuda.synchronize()
            times.append((time.perf_counter() - began) * 1e6)
        return median(times)

    def graph_us(self) -> tuple[float, str]:
        """Device time of one call among ``GRAPH_LAUNCHES`` in a replayed graph, cache warm.

        Returns:
            The median in microseconds and an empty string; or zero and the reason why the
            candidate cannot be captured, or left nothing in the capture.
        """
        try:
            graph = self._capture(GRAPH_LAUNCHES)
        except CudaError as error:
            return 0.0, f"the launch cannot be captured: {error}"
        except LaunchRefusedError as error:
            return 0.0, f"the launch cannot be captured: {error}"
        if not self._cuda.graph_nodes(graph):
            return 0.0, "the captured graph is empty: nothing was put on the launch stream"
        executable = self._cuda.instantiate(graph)
        times = []
        for _ in range(_WARM_UP + _REPEATS):
            self._cuda.record(self._start, self._stream)
            self._cuda.replay(executable, self._stream)
            self._cuda.record(self._stop, self._stream)
            self._cuda.wait(self._stop)
            times.append(self._cuda.elapsed_us(self._start, self._stop) / GRAPH_LAUNCHES)
        return median(times[_WARM_UP:]), ""

    def trace(self) -> dict[str, Any]:
        """What one call launches: ``kernels``, ``others``, ``replay_us``; or the ``reason``."""
        try:
            graph = self._capture(1)
            kernels, others = graph_kernels(graph)
        except (CudaError, LaunchRefusedError) as error:
            return {"reason": f"the launch cannot be captured: {error}"}
        times = []
        executable = self._cuda.instantiate(graph)
        for _ in range(_TRACE_REPEATS if kernels or others else 0):
            self._cuda.fill(self._flush, 0, self._flush_size, self._stream)
            self._cuda.record(self._start, self._stream)
            self._cuda.replay(executable, self._stream)
            self._cuda.record(self._stop, self._stream)
            self._cuda.wait(self._stop)
            times.append(self._cuda.elapsed_us(self._start, self._stop))
        return {"kernels": kernels, "others": others, "replay_us": median(times or [0.0])}

    def _capture(self, launches: int) -> int:
        self._cuda.begin_capture(self._stream)
        try:
            for _ in range(launches):
                self._call()
        except LaunchRefusedError:
            with suppress(CudaError):  # the capture may have been broken by the launch
                self._cuda.end_capture(self._stream)
            raise
        return self._cuda.end_capture(self._stream)

    def _call(self) -> None:
        code = self._launch()
        if code:
            raise LaunchRefusedError(code)
