"""The baseline worker: PyTorch's own time for a reference, in a clean process.

It is started by ``cutegen.measurement.baselines`` and answers the same kind of requests as
the candidate's worker. It makes its inputs itself, so no candidate ever shares memory with
it, and it measures the device's ceilings, since it has PyTorch loaded and nothing to hide.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from cutegen.execution.serving import Message, confine, serve
from cutegen.execution.timed_launches import GRAPH_LAUNCHES
from cutegen.measurement.ceilings import measure_ceilings
from cutegen.measurement.flush import flush_bytes
from cutegen.measurement.math_mode import set_math_mode
from cutegen.measurement.torch_events import elapsed_us, timing_event
from cutegen.spec import KernelSpec, MathMode, ScalarArg
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution

_CALLS = 60  # of which the first fifth warms up
_AUTOCAST = {MathMode.BF16: torch.bfloat16, MathMode.FP16: torch.float16}


class _Baseline:
    """One reference on one device."""

    def __init__(self, index: int) -> None:
        self._device = torch.device("cuda", index)
        torch.cuda.set_device(self._device)
        properties = torch.cuda.get_device_properties(self._device)
        size = flush_bytes(properties.L2_cache_size)
        self._flush = torch.empty(size, dtype=torch.uint8, device=self._device)
        self._start = timing_event()
        self._stop = timing_event()
        self._forward: Callable[[], object] = _nothing

    def describe(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """What device this is, and what runs on it."""
        properties = torch.cuda.get_device_properties(self._device)
        return {
            "gpu": properties.name,
            "uuid": str(properties.uuid),
            "compute_capability": f"{properties.major}.{properties.minor}",
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
        }

    def ceilings(self, request: Message) -> Message:
        """Measure the device's ceilings. Ask before ``load``: it sets the math mode."""
        return {
            "ceilings": measure_ceilings(self._device, request["driver"]).model_dump(mode="json")
        }

    def load(self, request: Message) -> Message:
        """Build the reference and its inputs on the device, and call it once."""
        self.unload({})
        torch.set_default_device(None)  # an earlier reference may have needed it
        spec = KernelSpec.model_validate(request["spec"])
        set_math_mode(spec.math_mode)
        module = spec.reference.build().to(self._device)
        call = torch.compile(module) if request["variant"] == "compile" else module
        arguments = _arguments(spec, request["seed"], self._device)
        cast = _AUTOCAST.get(spec.math_mode)

        def forward() -> object:
            if cast is None:
                return call(*arguments)
            with torch.autocast("cuda", cast):
                return call(*arguments)

        self._forward = forward
        with torch.no_grad():
            try:
                forward()
            except RuntimeError:
                # Some references make tensors in forward and leave the device to the default.
                torch.set_default_device(self._device)
                forward()
            torch.cuda.synchronize()
        return {}

    def unload(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """Forget the reference and its inputs, and give their memory back."""
        self._forward = _nothing
        torch.cuda.empty_cache()
        return {}

    def sample(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """Time one call on a cold L2, in microseconds, as the candidate's worker does."""
        with torch.no_grad():
            self._flush.zero_()
            self._start.record()
            output = self._forward()
            self._stop.record()
            self._stop.synchronize()
        stopped = time.perf_counter()
        torch.cuda.synchronize()
        residual = (time.perf_counter() - stopped) * 1e6
        del output  # only now: freeing is not part of the call
        return {"us": elapsed_us(self._start, self._stop), "residual_us": residual}

    def calls(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """What one call costs: ``call_us``, and ``graph_us`` with ``graph_reason``."""
        with torch.no_grad():
            call_us = self._call_us()
            try:
                graph_us, reason = self._graph_us(), ""
            except RuntimeError as error:  # whatever waits for the device cannot be captured
                graph_us, reason = 0.0, f"PyTorch cannot capture the reference: {error}"
        return {"call_us": call_us, "graph_us": graph_us, "graph_reason": reason}

    def _call_us(self) -> float:
        times = []
        for _ in range(_CALLS):
            began = time.perf_counter()
            self._forward()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - began) * 1e6)
        return median(times[_CALLS // 5 :])

    def _graph_us(self) -> float:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(GRAPH_LAUNCHES):
                self._forward()
        times = []
        for _ in range(_CALLS):
            self._start.record()
            graph.replay()
            self._stop.record()
            self._stop.synchronize()
            times.append(elapsed_us(self._start, self._stop) / GRAPH_LAUNCHES)
        return median(times[_CALLS // 5 :])


def _nothing() -> None:
    """What is called while no reference is loaded."""


def _arguments(spec: KernelSpec, seed: int, device: torch.device) -> tuple[Tensor | float, ...]:
    """The arguments of ``forward`` in order, with the values that the candidate gets."""
    tensors = draw_inputs(spec, spec.timed, Distribution.NORMAL, seed, device)
    return tuple(
        argument.value if isinstance(argument, ScalarArg) else tensors[argument.name]
        for argument in spec.arguments
    )


def main(argument: str) -> None:
    """Serve requests until the parent closes the socket. ``argument`` is JSON."""
    settings = json.loads(argument)
    confine(settings)

    def start() -> dict[str, Callable[[Message], Message]]:
        baseline = _Baseline(settings["device"])
        return {
            "describe": baseline.describe,
            "ceilings": baseline.ceilings,
            "load": baseline.load,
            "unload": baseline.unload,
            "sample": baseline.sample,
            "calls": baseline.calls,
        }

    with contextlib.redirect_stdout(sys.stderr):
        # The reference is the user's code and may raise anything.
        serve(settings["channel"], start, (Exception,))
