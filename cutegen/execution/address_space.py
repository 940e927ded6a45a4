"""A stretch of address space for emulated device memory, mapped to nothing but what is placed.

Like the worker, this imports the standard library only.
"""

import ctypes
import mmap
import os

_APART = 16 << 30  # a signed 32-bit number of 4-byte words is half of it
_PLACES = 16  # an arena, and workspaces of different sizes: one per case at most
_PROT_NONE = 0
_MAP_FIXED = 0x10
_MAP_NORESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value


def space_for(nbytes: int) -> int:
    """How much address space (not memory) an arena of ``nbytes`` takes."""
    return nbytes + _PLACES * _APART


class AddressSpace:
    """Reserved at once; memory is placed in it with wide gaps."""

    def __init__(self, nbytes: int) -> None:
        """Reserve room for an arena of ``nbytes`` and for workspaces.

        Raises:
            OSError: A limit of address space forbids it.
        """
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
        )
        self._libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self.nbytes = space_for(nbytes)
        self.begin = self._map(
            None, self.nbytes, _PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        )
        self._next = self.begin + _APART // 2

    def place(self, nbytes: int, descriptor: int | None = None) -> int:
        """Map memory, or the file behind ``descriptor``; returns its address.

        Raises:
            OSError: The space is used up, or the system has no memory.
        """
        address, size = self._next, _whole_pages(nbytes)
        self._next += size + _APART
        if address + size > self.begin + self.nbytes:
            raise OSError("too many workspaces of different sizes")
        access = mmap.PROT_READ | mmap.PROT_WRITE
        own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        kind = own if descriptor is None else mmap.MAP_SHARED
        return self._map(address, size, access, kind | _MAP_FIXED, descriptor)

    def open(self, address: int, used: int, nbytes: int) -> None:
        """Let the first ``used`` bytes of a placed stretch be used, and not the others."""
        used, nbytes = _whole_pages(used), _whole_pages(nbytes)
        for start, end, access in (
            (0, used, mmap.PROT_READ | mmap.PROT_WRITE),
            (used, nbytes, _PROT_NONE),
        ):
            if start < end and self._libc.mprotect(address + start, end - start, access):
                raise OSError(ctypes.get_errno(), "mprotect failed")

    def _map(
        self,
        address: int | None,
        nbytes: int,
        access: int,
        kind: int,
        descriptor: int | None = None,
    ) -> int:
        mapped = self._libc.mmap(
            address, nbytes, access, kind, -1 if descriptor is None else descriptor, 0
        )
        if mapped is None or mapped == _FAILED:
            error = ctypes.get_errno()
            raise OSError(error, f"cannot map {nbytes} bytes: {os.strerror(error)}")
        return int(mapped)


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
