"""Where a candidate's memory lives, as the worker process sees it.

Like the worker, this imports the standard library only.
"""

import ctypes
import mmap
import os
from collections.abc import Mapping
from typing import Protocol

from cutegen.execution.address_space import AddressSpace
from cutegen.execution.cudart import CudaRuntime
from cutegen.execution.serving import Message


class Device(Protocol):
    """Where the candidate's memory lives."""

    stream: int

    def attach(self, request: Message) -> int:
        """Map the parent's arena; returns its address in this process."""

    def allocate(self, nbytes: int) -> int:
        """Memory for a workspace."""

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""

    def read(self, address: int, nbytes: int) -> bytes:
        """Copy bytes to the host."""

    def write(self, address: int, data: bytes) -> None:
        """Copy bytes from the host."""

    def before(self, used: int) -> None:
        """Bring the arena up to date for a launch."""

    def after(self, library: ctypes.CDLL) -> int:
        """Wait for what was launched; the cudaError_t of kernels that failed."""

    def launched(self, library: ctypes.CDLL) -> bool:
        """Whether the candidate gave this device any work; True where nobody counts it."""

    def announce(
        self, library: ctypes.CDLL, tensors: Mapping[str, tuple[int, int, int, bool]]
    ) -> None:
        """Tell where memory lies that kernels may use.

        By name: address, bytes, bytes of an element, and whether it has been written.
        """

    def report(self, library: ctypes.CDLL) -> str:
        """What was found wrong with its kernels since the last call; empty on a GPU."""


class HostDevice:
    """Emulated device memory: a file in memory that both processes map.

    It lies in the midst of address space that is mapped to nothing, and so does the workspace:
    an index that is wrong by any 32-bit number of words ends in a signal, not in luck.
    """

    stream = 0

    def __init__(self, arena_fd: int) -> None:
        """Map the arena behind a file descriptor.

        Raises:
            OSError: There is no room for it.
        """
        size = os.fstat(arena_fd).st_size
        self._space = AddressSpace(size)
        self._arena = self._space.place(size, arena_fd)
        self._size = size

    def attach(self, request: Message) -> int:  # noqa: ARG002 - the protocol's signature
        """The address of the arena in this process."""
        return self._arena

    def allocate(self, nbytes: int) -> int:
        """Memory for a workspace."""
        return self._space.place(nbytes)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""
        ctypes.memset(address, byte, nbytes)

    def read(self, address: int, nbytes: int) -> bytes:
        """Copy bytes to the host."""
        return ctypes.string_at(address, nbytes)

    def write(self, address: int, data: bytes) -> None:
        """Copy bytes from the host."""
        ctypes.memmove(address, data, len(data))

    def before(self, used: int) -> None:
        """Both processes see the same pages. What this case does not use is out of bounds."""
        self._space.open(self._arena, used, self._size)

    def after(self, library: ctypes.CDLL) -> int:
        """What the emulator noticed in kernels whose launch reported no error."""
        noticed = getattr(library, "cutegen_emulator_synchronize", None)
        return int(noticed()) if noticed is not None else 0

    def launched(self, library: ctypes.CDLL) -> bool:
        """Device memory is host memory here, so only the emulator's count tells."""
        count = getattr(library, "cutegen_emulator_launches", None)
        return count is None or bool(count())

    def announce(
        self, library: ctypes.CDLL, tensors: Mapping[str, tuple[int, int, int, bool]]
    ) -> None:
        """The emulator's watcher wants to know."""
        if not hasattr(library, "cutegen_emulator_tensor"):  # a candidate built otherwise
            return
        library.cutegen_emulator_device_memory(
            ctypes.c_void_p(self._space.begin), ctypes.c_size_t(self._space.nbytes)
        )
        for name, (address, nbytes, element, written) in tensors.items():
            library.cutegen_emulator_tensor(
                name.encode(),
                ctypes.c_void_p(address),
                ctypes.c_size_t(nbytes),
                ctypes.c_size_t(element),
                ctypes.c_bool(written),
            )

    def report(self, library: ctypes.CDLL) -> str:
        """What the emulator found, as report.hpp writes it."""
        found = getattr(library, "cutegen_emulator_report", None)
        if found is None:
            return ""
        found.restype = ctypes.c_char_p
        return bytes(found() or b"").decode(errors="replace")


class CudaDevice:
    """Device memory of this process, and the parent's, shared through CUDA IPC or a file.

    The candidate works on this process's own memory. On an H200, streaming within one
    imported allocation ran at half to four fifths of the bandwidth that own memory gives.
    """

    def __init__(self, arena_fd: int, library: str, device: int) -> None:
        """Take a device in use, through the libcudart at ``library``."""
        self.runtime = CudaRuntime(library, device)
        self.stream = self.runtime.stream()
        self._arena_fd = arena_fd
        self._mirror: mmap.mmap | None = None
        self._shared = 0
        self._base = 0
        self._used = 0

    def attach(self, request: Message) -> int:
        """The address of the arena in this process."""
        if request["ipc"]:
            self._shared = self.runtime.import_memory(bytes.fromhex(request["ipc"]))
        else:
            self._mirror = mmap.mmap(self._arena_fd, 0)
            self._shared = _address(self._mirror)
        self._base = self.runtime.allocate(os.fstat(self._arena_fd).st_size)
        return self._base

    def allocate(self, nbytes: int) -> int:
        """Memory for a workspace."""
        return self.runtime.allocate(nbytes)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""
        self.runtime.fill(address, byte, nbytes)
        self.runtime.synchronize()

    def read(self, address: int, nbytes: int) -> bytes:
        """Copy bytes to the host."""
        host = ctypes.create_string_buffer(nbytes)
        self.runtime.copy(ctypes.addressof(host), address, nbytes)
        return host.raw

    def write(self, address: int, data: bytes) -> None:
        """Copy bytes from the host."""
        host = ctypes.create_string_buffer(data, len(data))
        self.runtime.copy(address, ctypes.addressof(host), len(data))

    def before(self, used: int) -> None:
        """Copy the first ``used`` bytes of the parent's arena into our own."""
        self._used = used
        self.runtime.copy(self._base, self._shared, used)

    def after(self, library: ctypes.CDLL) -> int:  # noqa: ARG002 - the protocol's signature
        """Wait, and copy them back."""
        self.runtime.synchronize()
        self.runtime.copy(self._shared, self._base, self._used)
        return 0

    def launched(self, library: ctypes.CDLL) -> bool:  # noqa: ARG002 - the protocol's signature
        """The host cannot touch this memory, so outputs prove work."""
        return True

    def announce(
        self, library: ctypes.CDLL, tensors: Mapping[str, tuple[int, int, int, bool]]
    ) -> None:
        """A GPU knows its memory."""

    def report(self, library: ctypes.CDLL) -> str:  # noqa: ARG002 - the protocol's signature
        """A GPU says no more than an error code."""
        return ""


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
