"""Occupancy from registers, shared memory and block size, without a GPU.

The limits are those of the CUDA C++ Programming Guide, appendix "Compute Capabilities", table
"Technical Specifications per Compute Capability"; registers are given out to warps in units
of 256 and out of four banks per multiprocessor, and each block pays 1 KiB of shared memory to
the system, as the guide's chapters on compute capability 8.x and 9.0 and the occupancy
calculator of Nsight Compute say.
"""

from typing import NamedTuple

from cutegen.frozen import Frozen

WARP = 32
_REGISTERS_PER_SM = 65536
_REGISTER_UNIT = 256
_PARTITIONS = 4
_SMEM_UNIT = 128
_SMEM_RESERVED = 1024
_MAX_THREADS = 1024
_KIB = 1024


class SmLimits(NamedTuple):
    """What one multiprocessor can hold."""

    warps: int
    blocks: int
    smem_bytes: int
    smem_bytes_per_block: int


LIMITS = {
    "sm_80": SmLimits(64, 32, 164 * _KIB, 163 * _KIB),
    "sm_86": SmLimits(48, 16, 100 * _KIB, 99 * _KIB),
    "sm_89": SmLimits(48, 24, 100 * _KIB, 99 * _KIB),
    "sm_90": SmLimits(64, 32, 228 * _KIB, 227 * _KIB),
    "sm_100": SmLimits(64, 32, 228 * _KIB, 227 * _KIB),
}


class Occupancy(Frozen):
    """Resident blocks and warps per multiprocessor, and what keeps there from being more.

    ``limiter`` is one of warps, blocks, registers, shared-memory.
    """

    blocks: int
    warps: int
    fraction: float
    limiter: str


def occupancy(arch: str, threads: int, registers: int, smem_bytes: int) -> Occupancy | None:
    """The theoretical occupancy of a kernel.

    Args:
        arch: Target such as ``sm_90a``.
        threads: Threads per block.
        registers: Registers per thread.
        smem_bytes: Static and dynamic shared memory per block.

    Returns:
        The occupancy, or None for an unknown architecture or a block that cannot be launched.
    """
    limits = LIMITS.get(arch.rstrip("af"))
    if (
        limits is None
        or not 0 < threads <= _MAX_THREADS
        or smem_bytes > limits.smem_bytes_per_block
    ):
        return None
    warps_per_block = _ceil(threads, WARP) // WARP
    registers_per_warp = _ceil(max(registers, 1) * WARP, _REGISTER_UNIT)
    warps_by_registers = _REGISTERS_PER_SM // _PARTITIONS // registers_per_warp * _PARTITIONS
    smem_per_block = _ceil(smem_bytes + _SMEM_RESERVED, _SMEM_UNIT)
    candidates = {
        "warps": limits.warps // warps_per_block,
        "blocks": limits.blocks,
        "registers": warps_by_registers // warps_per_block,
        "shared-memory": limits.smem_bytes // smem_per_block,
    }
    limiter = min(candidates, key=lambda name: candidates[name])
    blocks = candidates[limiter]
    if not blocks:
        return None
    warps = blocks * warps_per_block
    return Occupancy(blocks=blocks, warps=warps, fraction=warps / limits.warps, limiter=limiter)


def _ceil(value: int, unit: int) -> int:
    return -(-value // unit) * unit
