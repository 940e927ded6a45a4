"""The few CUDA runtime calls that executors need, through ctypes, without torch.

The parent and the worker both use it; so it imports the standard library only.
"""

import ctypes

ERROR_NOT_SUPPORTED = 801
L2_CACHE_SIZE_ATTRIBUTE = 38
PERSISTING_L2_SIZE_ATTRIBUTE = 108  # cudaDevAttrMaxPersistingL2CacheSize
IPC_HANDLE_BYTES = 64
_EITHER_DIRECTION = 4  # cudaMemcpyDefault
_LAZY_PEER_ACCESS = 1
_RELAXED_CAPTURE = 2  # cudaStreamCaptureModeRelaxed: host queries of a candidate are its own affair


class CudaError(RuntimeError):
    """A CUDA runtime call failed; ``code`` is its ``cudaError_t``."""

    def __init__(self, code: int, name: str, text: str, call: str) -> None:
        """Keep the code and its name beside the message."""
        super().__init__(f"{call}: {name} ({code}): {text}")
        self.code = code
        self.name = name
        self.text = text


class _IpcHandle(ctypes.Structure):
    """``cudaIpcMemHandle_t``, which is passed by value."""

    _fields_ = [("reserved", ctypes.c_char * IPC_HANDLE_BYTES)]


class CudaRuntime:
    """One process's CUDA runtime on one device. Every method raises ``CudaError``."""

    def __init__(self, library: str, device: int) -> None:
        """Load ``library`` (a path to libcudart) and create the primary context of ``device``."""
        self._lib = ctypes.CDLL(library)
        self._lib.cudaGetErrorName.restype = ctypes.c_char_p
        self._lib.cudaGetErrorString.restype = ctypes.c_char_p
        self.device = device
        self.call("cudaFree", ctypes.c_void_p(0))

    def describe(self, code: int) -> tuple[str, str]:
        """Name and text of an error code."""
        name = self._lib.cudaGetErrorName(ctypes.c_int(code)) or b"unknown"
        text = self._lib.cudaGetErrorString(ctypes.c_int(code)) or b""
        return name.decode(), text.decode()

    def call(self, function: str, *args: object) -> None:
        """Call a runtime function that returns ``cudaError_t``, on this object's device."""
        # The current device is per thread, and a graph runs its nodes in many threads.
        code = int(self._lib.cudaSetDevice(ctypes.c_int(self.device)))
        code = code or int(getattr(self._lib, function)(*args))
        if code:
            # The last error is per thread and would be reported again by the next call.
            self._lib.cudaGetLastError()
            raise CudaError(code, *self.describe(code), function)

    def allocate(self, nbytes: int) -> int:
        """Address of ``nbytes`` of fresh device memory."""
        pointer = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(nbytes))
        return pointer.value or 0

    def free(self, address: int) -> None:
        """Give memory of ``allocate`` back."""
        self.call("cudaFree", ctypes.c_void_p(address))

    def fill(self, address: int, byte: int, nbytes: int, stream: int = 0) -> None:
        """Set ``nbytes`` to ``byte``, in stream order."""
        self.call(
            "cudaMemsetAsync",
            ctypes.c_void_p(address),
            ctypes.c_int(byte),
            ctypes.c_size_t(nbytes),
            ctypes.c_void_p(stream),
        )

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy between any two addresses, of the host or of the device, and wait for it."""
        self.call(
            "cudaMemcpy",
            ctypes.c_void_p(target),
            ctypes.c_void_p(source),
            ctypes.c_size_t(nbytes),
            ctypes.c_int(_EITHER_DIRECTION),
        )
        self.synchronize()  # a copy within the device does not wait by itself

    def export_memory(self, address: int) -> bytes:
        """An IPC handle for the base address of an allocation."""
        handle = _IpcHandle()
        self.call("cudaIpcGetMemHandle", ctypes.byref(handle), ctypes.c_void_p(address))
        return ctypes.string_at(ctypes.byref(handle), IPC_HANDLE_BYTES)

    def import_memory(self, handle: bytes) -> int:
        """Map another process's allocation; the address is this process's own."""
        record = _IpcHandle.from_buffer_copy(handle)
        pointer = ctypes.c_void_p()
        self.call(
            "cudaIpcOpenMemHandle", ctypes.byref(pointer), record, ctypes.c_uint(_LAZY_PEER_ACCESS)
        )
        return pointer.value or 0

    def stream(self) -> int:
        """A new stream. It is a blocking one, so work on the default stream is timed too."""
        return self._create("cudaStreamCreate")

    def event(self) -> int:
        """A new timing event."""
        return self._create("cudaEventCreate")

    def _create(self, function: str) -> int:
        handle = ctypes.c_void_p()
        self.call(function, ctypes.byref(handle))
        return handle.value or 0

    def record(self, event: int, stream: int) -> None:
        """Record an event in a stream."""
        self.call("cudaEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait(self, event: int) -> None:
        """Block until an event has happened."""
        self.call("cudaEventSynchronize", ctypes.c_void_p(event))

    def elapsed_us(self, start: int, stop: int) -> float:
        """Time between two events, in microseconds."""
        milliseconds = ctypes.c_float()
        self.call(
            "cudaEventElapsedTime",
            ctypes.byref(milliseconds),
            ctypes.c_void_p(start),
            ctypes.c_void_p(stop),
        )
        return milliseconds.value * 1e3

    def reset_persisting_l2(self) -> None:
        """Make cache lines that were pinned in L2 ordinary ones again."""
        self.call("cudaCtxResetPersistingL2Cache")

    def begin_capture(self, stream: int) -> None:
        """Record a stream's work in a graph from now on, instead of running it."""
        self.call("cudaStreamBeginCapture", ctypes.c_void_p(stream), ctypes.c_int(_RELAXED_CAPTURE))

    def end_capture(self, stream: int) -> int:
        """The graph of what was recorded."""
        graph = ctypes.c_void_p()
        self.call("cudaStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        return graph.value or 0

    def graph_nodes(self, graph: int) -> int:
        """How many nodes a graph has."""
        count = ctypes.c_size_t()
        self.call("cudaGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
        return count.value

    def instantiate(self, graph: int) -> int:
        """An executable of a graph."""
        executable = ctypes.c_void_p()
        self.call(
            "cudaGraphInstantiateWithFlags",
            ctypes.byref(executable),
            ctypes.c_void_p(graph),
            ctypes.c_ulonglong(0),
        )
        return executable.value or 0

    def replay(self, executable: int, stream: int) -> None:
        """Run an executable graph in a stream."""
        self.call("cudaGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))

    def synchronize(self) -> None:
        """Block until the device is idle; faults of earlier launches appear here."""
        self.call("cudaDeviceSynchronize")

    def attribute(self, attribute: int) -> int:
        """A device attribute by its number in ``cudaDeviceAttr``."""
        value = ctypes.c_int()
        self.call(
            "cudaDeviceGetAttribute",
            ctypes.byref(value),
            ctypes.c_int(attribute),
            ctypes.c_int(self.device),
        )
        return value.value
