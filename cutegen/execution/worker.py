"""The worker process: loads one candidate and launches it on memory shared with the parent.

It imports the standard library only, so that a fresh process per candidate costs
milliseconds, and it never sees a reference value. Requests and replies are JSON lines on
a socket of its own; standard output and standard error belong to the candidate.

Every reply has ``error``: empty, or why the operation failed. ``launch``, ``sample`` and
``calls`` add ``code``, ``name`` and ``text`` (the ``cudaError_t``) and ``stage`` (``return`` for
what ``cutegen_launch`` returned, ``synchronize`` for a fault that came later), and
``report``: what the emulator found wrong, as its report.hpp writes it.
"""

import base64
import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Mapping

from cutegen.execution.confinement import close_off
from cutegen.execution.cudart import CudaError
from cutegen.execution.devices import CudaDevice, Device, HostDevice
from cutegen.execution.serving import Message, confine, serve
from cutegen.execution.timed_launches import LaunchRefusedError, TimedLaunches

_WORKSPACE_GUARD = 1 << 16
_GUARD_BYTE = 0xA7
_WORKSPACE_ELEMENT = 2  # its types are the candidate's own: from halves upwards


class _Worker:
    """One candidate, from loading to the last launch."""

    def __init__(self, device: Device, folder: str) -> None:
        self._device = device
        self._folder = folder
        self._library: ctypes.CDLL
        self._base = 0
        self._used = 0
        self._arguments: ctypes.Array[ctypes.c_char]
        self._workspace = (0, 0)
        self._poison = 0xFF  # NaN in every floating type
        self._workspaces: dict[int, int] = {}
        self._timed: TimedLaunches | None = None

    def load(self, request: Message) -> Message:
        """Map the arena, close the process off, and load the shared object."""
        self._base = self._device.attach(request)
        home = os.path.dirname(request["library"])  # noqa: PTH120 - pathlib is slow to import
        sandbox = close_off(self._folder, [home], request["memory"], request["layers"])
        self._library = ctypes.CDLL(request["library"])
        if not hasattr(self._library, "cutegen_launch"):
            return {"error": "missing-entry-point"}
        self._library.cutegen_launch.restype = ctypes.c_int
        if hasattr(self._library, "cutegen_workspace_bytes"):
            self._library.cutegen_workspace_bytes.restype = ctypes.c_size_t
        return {"sandbox": sandbox}

    def launch(self, request: Message) -> Message:
        """Launch once and wait. The arguments stay in place for ``sample``."""
        os.environ.update(request["environment"])
        self._prepare(request)
        self._used = request["used"]
        self._device.before(self._used)
        tensors = {
            name: (self._base + at, nbytes, element, True)
            for name, (at, nbytes, element) in request["tensors"].items()
        }
        if self._workspace[1]:
            tensors["the workspace"] = (*self._workspace, _WORKSPACE_ELEMENT, False)
        self._device.announce(self._library, tensors)
        began = time.perf_counter()
        reply = self._run()
        reply["seconds"] = time.perf_counter() - began
        reply["launched"] = self._device.launched(self._library)
        reply["workspace_bytes"] = self._workspace[1]
        reply["workspace_intact"] = bool(reply["code"]) or self._guards_hold()
        return reply

    def sample(self, request: Message) -> Message:
        """Time one launch on a cold L2: ``us`` and ``residual_us`` of ``TimedLaunches.cold``.

        What the last call left in the workspace is gone, and some inputs have changed.
        """
        for offset, data in request["changes"]:
            self._device.write(self._base + offset, bytes.fromhex(data))
        self._poison_workspace()

        def cold(timed: TimedLaunches) -> Message:
            microseconds, residual = timed.cold()
            return {"us": microseconds, "residual_us": residual}

        return self._time(cold)

    def calls(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """What a short call costs: ``call_us``, and ``graph_us`` with ``graph_reason``."""

        def calls(timed: TimedLaunches) -> Message:
            graph_us, reason = timed.graph_us()
            return {"call_us": timed.call_us(), "graph_us": graph_us, "graph_reason": reason}

        return self._time(calls)

    def trace(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """What one call launches: ``TimedLaunches.trace``."""
        return self._time(lambda timed: {"trace": timed.trace()})

    def _time(self, measure: Callable[[TimedLaunches], Message]) -> Message:
        device = self._device
        assert isinstance(device, CudaDevice)
        try:
            if self._timed is None:
                self._timed = TimedLaunches(
                    device.runtime,
                    device.stream,
                    lambda: int(self._library.cutegen_launch(self._arguments)),
                )
            return {**self._outcome(0, ""), **measure(self._timed)}
        except LaunchRefusedError as error:
            return self._outcome(error.code, "return")
        except CudaError as error:
            return self._outcome(error.code, "synchronize")

    def fetch(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """Show the parent what the last launch or sample left."""
        return self._outcome(self._device.after(self._library), "synchronize")

    def put(self, request: Message) -> Message:  # noqa: ARG002 - the table's signature
        """Take over what the parent changed in the arena since the last launch."""
        self._device.before(self._used)
        return {}

    def _prepare(self, request: Message) -> None:
        """Patch addresses into the packed ``CutegenArgs``, and provide the workspace."""
        packed = bytearray(base64.b64decode(request["arguments"]))
        for offset, position in request["pointers"]:
            _put(packed, offset, self._base + position)
        _put(packed, request["stream"], self._device.stream)
        self._arguments = ctypes.create_string_buffer(bytes(packed), len(packed))
        self._workspace = (0, 0)
        if not hasattr(self._library, "cutegen_workspace_bytes"):
            return
        nbytes = int(self._library.cutegen_workspace_bytes(self._arguments))
        if nbytes:
            if nbytes not in self._workspaces:
                self._workspaces[nbytes] = self._device.allocate(nbytes + 2 * _WORKSPACE_GUARD)
            base = self._workspaces[nbytes]
            self._device.fill(base, _GUARD_BYTE, nbytes + 2 * _WORKSPACE_GUARD)
            self._workspace = (base + _WORKSPACE_GUARD, nbytes)
            self._poison = request["poison"]
            self._poison_workspace()
            _put(packed, request["workspace"], self._workspace[0])
            _put(packed, request["workspace_bytes"], nbytes)
            self._arguments = ctypes.create_string_buffer(bytes(packed), len(packed))

    def _poison_workspace(self) -> None:
        address, nbytes = self._workspace
        if nbytes:
            self._device.fill(address, self._poison, nbytes)

    def _run(self) -> Message:
        code = int(self._library.cutegen_launch(self._arguments))
        if code:
            return self._outcome(code, "return")
        try:
            code = self._device.after(self._library)
        except CudaError as error:
            return self._outcome(error.code, "synchronize")
        return self._outcome(code, "synchronize" if code else "")

    def _outcome(self, code: int, stage: str) -> Message:
        name, text = "", ""
        if code and isinstance(self._device, CudaDevice):
            name, text = self._device.runtime.describe(code)
        report = self._device.report(self._library)
        return {"code": code, "stage": stage, "name": name, "text": text, "report": report}

    def _guards_hold(self) -> bool:
        address, nbytes = self._workspace
        if not nbytes:
            return True
        intact = bytes([_GUARD_BYTE]) * _WORKSPACE_GUARD
        return intact == self._device.read(
            address - _WORKSPACE_GUARD, _WORKSPACE_GUARD
        ) and intact == self._device.read(address + nbytes, _WORKSPACE_GUARD)


def _put(packed: bytearray, offset: int, value: int) -> None:
    packed[offset : offset + 8] = value.to_bytes(8, sys.byteorder)


def main(argument: str) -> None:
    """Serve requests until the parent closes the socket. ``argument`` is JSON."""
    settings = json.loads(argument)
    confine(settings)

    def start() -> Mapping[str, Callable[[Message], Message]]:
        device: Device = (
            CudaDevice(settings["arena"], settings["cudart"], settings["device"])
            if settings["cudart"]
            else HostDevice(settings["arena"])
        )
        worker = _Worker(device, settings["folder"])
        return {
            "load": worker.load,
            "launch": worker.launch,
            "sample": worker.sample,
            "calls": worker.calls,
            "trace": worker.trace,
            "fetch": worker.fetch,
            "put": worker.put,
        }

    serve(settings["channel"], start, (OSError, CudaError, ValueError))


if __name__ == "__main__":
    main(sys.argv[1])
