"""Arenas: one block of memory shared with the worker, tensors laid out between guard bands."""

import mmap
import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from cutegen.execution.cudart import CudaError, CudaRuntime
from cutegen.spec import Case, TensorArg
from cutegen.verification.poison import poison

GUARD_BYTES = 31 << 10  # with its alignment below the size at which PyTorch starts threads
_ALIGNMENT = 256


class Trespass(NamedTuple):
    """A guard band that was written: by how many bytes, on which side of which tensor."""

    tensor: str
    side: str
    distance: int  # from the tensor's edge to the first byte that was changed
    changed: int


class Layout:
    """Where each tensor of a case lies in an arena."""

    def __init__(self, case: Case) -> None:
        """Place the tensors in contract order, 256-byte aligned, a guard band between."""
        self.case = case
        self.offsets: dict[str, int] = {}
        position = GUARD_BYTES
        for tensor in case.tensors:
            position = -(-position // _ALIGNMENT) * _ALIGNMENT
            self.offsets[tensor.name] = position
            position += tensor.nbytes + GUARD_BYTES
        self.nbytes = position

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Start and end of every guard band, from the one before the first tensor on."""
        start = 0
        for tensor in self.case.tensors:
            offset = self.offsets[tensor.name]
            yield start, offset
            start = offset + tensor.nbytes
        yield start, self.nbytes


class Arena(Protocol):
    """A block of shared memory, seen from the parent."""

    memory: Tensor  # uint8, one-dimensional
    descriptor: int
    ipc_handle: str

    def to_worker(self) -> None:
        """Make what the parent wrote visible to the worker."""

    def from_worker(self) -> None:
        """Make what the worker wrote visible to the parent."""

    def close(self) -> None:
        """Give the memory back."""


class HostArena:
    """An arena in a memory file, for the emulator: both processes map the same pages."""

    ipc_handle = ""

    def __init__(self, nbytes: int) -> None:
        """Create the file; pages are only taken when they are touched."""
        self.descriptor = _memory_file(nbytes)
        self.memory = torch.frombuffer(mmap.mmap(self.descriptor, nbytes), dtype=torch.uint8)

    def to_worker(self) -> None:
        """Nothing to do: the pages are shared."""

    def from_worker(self) -> None:
        """Nothing to do: the pages are shared."""

    def close(self) -> None:
        """Close the file; the pages go when the last view of them has gone."""
        os.close(self.descriptor)


class CudaArena:
    """An arena in device memory, shared by CUDA IPC; call ``use_mirror`` where that is refused."""

    def __init__(self, runtime: CudaRuntime, nbytes: int) -> None:
        """Allocate with cudaMalloc itself, as IPC handles name whole allocations.

        Raises:
            CudaError: The device has no memory left, among others.
        """
        self._runtime = runtime
        self._address = runtime.allocate(nbytes)
        self.memory = torch.as_tensor(
            _DeviceBytes(self._address, nbytes), device=torch.device("cuda", runtime.device)
        )
        self.descriptor = _memory_file(nbytes)
        self._mirror: Tensor | None = None
        try:
            self.ipc_handle = runtime.export_memory(self._address).hex()
        except CudaError:
            self.use_mirror()

    def use_mirror(self) -> None:
        """Share through a memory file from now on, by copying before and after each launch."""
        self.ipc_handle = ""
        mapped = mmap.mmap(self.descriptor, self.memory.numel())
        self._mirror = torch.frombuffer(mapped, dtype=torch.uint8)

    def to_worker(self) -> None:
        """Wait for the parent's own writes, and copy them where IPC is refused."""
        if self._mirror is not None:
            self._mirror.copy_(self.memory)
        self._runtime.synchronize()

    def from_worker(self) -> None:
        """Copy the worker's writes where IPC is refused; it has synchronised already."""
        if self._mirror is not None:
            self.memory.copy_(self._mirror)

    def close(self) -> None:
        """Free the device memory. Views of it must not be used any more."""
        os.close(self.descriptor)
        self._runtime.free(self._address)


class _DeviceBytes:
    """Device memory as torch takes it: through the CUDA array interface."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


def _memory_file(nbytes: int) -> int:
    descriptor = os.memfd_create("cutegen-arena")
    os.ftruncate(descriptor, nbytes)
    return descriptor


def view(memory: Tensor, layout: Layout, tensor: TensorArg) -> Tensor:
    """One tensor of the layout, as a view into ``memory``."""
    offset = layout.offsets[tensor.name]
    flat = memory[offset : offset + tensor.nbytes]
    return flat.view(tensor.dtype.torch).reshape(tensor.shape)


def prepare(memory: Tensor, layout: Layout, inputs: Mapping[str, Tensor]) -> None:
    """Write guard bands and inputs, and poison the outputs."""
    for index, (start, end) in enumerate(layout.gaps()):
        memory[start:end].copy_(_guard(index, end - start))
    for tensor in layout.case.tensors:
        target = view(memory, layout, tensor)
        if tensor.role == "output":
            poison(target)
        else:
            target.copy_(inputs[tensor.name])


def trespasses(memory: Tensor, layout: Layout) -> tuple[Trespass, ...]:
    """Every guard band that no longer holds what ``prepare`` wrote."""
    found: list[Trespass] = []
    tensors = layout.case.tensors
    for index, (start, end) in enumerate(layout.gaps()):
        band = memory[start:end].cpu()
        intact = _guard(index, end - start)
        if torch.equal(band, intact):
            continue
        wrong = torch.nonzero(band != intact).flatten()
        after, before = int(wrong[0]), end - start - 1 - int(wrong[-1])
        if index == len(tensors) or (index > 0 and after <= before):
            found.append(Trespass(tensors[index - 1].name, "past the end", after, len(wrong)))
        else:
            found.append(Trespass(tensors[index].name, "before the start", before, len(wrong)))
    return tuple(found)


def _guard(index: int, nbytes: int) -> Tensor:
    """Bytes that read as NaN in every floating type, different for neighbouring bands.

    A stray read then shows in the values; a stray copy from one band to another shows too.
    """
    return _guard_pattern(index % 14)[:nbytes]


@cache
def _guard_pattern(variant: int) -> Tensor:
    """The longest band there is: words 0xFFF1 to 0xFFFE."""
    pair = torch.tensor([0xF1 + variant, 0xFF], dtype=torch.uint8)
    return pair.repeat(GUARD_BYTES // 2 + _ALIGNMENT)


def find_cudart() -> str:
    """The libcudart that this process's torch has loaded.

    Raises:
        RuntimeError: None is loaded; torch was built without CUDA.
    """
    torch.empty(0, device="cuda")  # PyTorch loads the runtime when it is first used
    with open("/proc/self/maps", encoding="utf-8") as maps:  # noqa: PTH123 - not a file with a path
        paths = [line.split()[-1] for line in maps if "libcudart" in line]
    if not paths:
        raise RuntimeError(
            "PyTorch has not loaded libcudart: install a CUDA build of torch, or use "
            "--executor emulated"
        )
    return paths[0]
