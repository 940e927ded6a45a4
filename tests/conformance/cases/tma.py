"""Tensor copies by TMA."""

import numpy as np

from conformance.case import Bound, Exact, KernelCase, Operand, integers
from cutegen.spec import DType

F16, F32, INT = DType.FLOAT16, DType.FLOAT32, DType.INT32
_ROWS, _COLUMNS = 16, 64  # of the swizzled tiles


def _in_shared_memory(tile: Exact, width: int) -> Exact:
    """A tile of 16 x 64 halves as TMA lays it out, by its documentation.

    ``width`` is the bytes of the swizzle's row, 16 for none. The tile becomes columns of that
    width, one after the other. In each, 16-byte chunk ``c`` of 128-byte line ``l`` lies at chunk
    ``c ^ (l mod (width / 16))``.
    """
    halves = width // 2
    columns = [tile[:, c : c + halves] for c in range(0, _COLUMNS, halves)]
    flat = np.concatenate([column.reshape(-1) for column in columns]).reshape(-1, 8)
    placed = np.empty_like(flat)
    chunk = np.arange(len(flat))
    placed[chunk ^ (chunk // 8 % (width // 16))] = flat
    return placed.reshape(-1)


def _swizzled(a: Exact, _: Exact) -> Exact:
    tiles = [
        a[r : r + _ROWS, c : c + _COLUMNS]
        for r in range(0, a.shape[0], _ROWS)
        for c in range(0, a.shape[1], _COLUMNS)
    ]
    parts = [_in_shared_memory(tile, width) for width in (16, 32, 64, 128) for tile in tiles]
    return np.concatenate(parts)


def _row_sums_of_tiles(a: Exact, _: Exact) -> Exact:
    out = np.empty_like(a)
    for c in range(0, a.shape[1], 32):
        out[:, c : c + 32] = a[:, c : c + 32].sum(1, keepdims=True)
    return out


def _twice(a: Exact, _: Exact) -> Exact:
    tiles = a.reshape(-1, 1, 32 * 32)
    return np.concatenate([tiles, tiles + 1], axis=1)


def _mirrored(a: Exact, _: Exact) -> Exact:
    return np.concatenate([a[:, c : c + 64][:, ::-1] for c in range(0, a.shape[1], 64)], axis=1)


CASES = (
    KernelCase(
        "tma_load_swizzled",
        "tma",
        Operand((32, 128), F16),
        ((4 * 32, 128), F16),
        _swizzled,
        technique="TMA load, no swizzle and 32, 64, 128 bytes, as the bytes lie",
    ),
    KernelCase(
        "tma_tail",
        "tma",
        Operand((45, 72)),
        ((45, 72), F32),
        _row_sums_of_tiles,
        bound=Bound(32, magnitude=lambda a, b: _row_sums_of_tiles(np.abs(a), b)),
        technique="TMA load and store past the edges",
    ),
    KernelCase(
        "tma_reduce",
        "tma",
        Operand((5, 512), INT, integers(-1000, 1000)),
        ((16, 32), INT),
        lambda a, _: a.sum(0),
        technique="TMA reduction in global memory",
    ),
    KernelCase(
        "tma_multicast",
        "tma",
        Operand((64, 32), draw=integers(-1000, 1000)),
        ((4, 1024), F32),
        _twice,
        technique="TMA multicast to a cluster of 2",
    ),
    KernelCase(
        "tma_batched",
        "tma",
        Operand((3 * 32, 128), F16),
        ((3 * 32, 128), F16),
        _mirrored,
        b=Operand((32, 1), F16),
        technique="TMA load of three dimensions, columns contiguous",
    ),
)
