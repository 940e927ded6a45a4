"""Barriers, clusters and bulk copies of sm_90. All integers, so all bits must agree."""

import numpy as np

from conformance.case import Exact, KernelCase, Operand, integers
from cutegen.spec import DType

INT = DType.INT32
_SMALL = integers(-1000, 1000)


def _ints(*shape: int) -> Operand:
    return Operand((shape[0], shape[1]), INT, _SMALL)


def _ping_pong(a: Exact, _: Exact) -> Exact:
    return a[:, np.arange(64) ^ 33] + np.arange(len(a))[:, None]


def _rotated(a: Exact, b: Exact) -> Exact:
    size = len(b)
    return np.roll(a.reshape(-1, size, a.shape[1]), 1, axis=1)


CASES = (
    KernelCase(
        "mbarrier_ring",
        "barriers",
        _ints(7, 96),
        ((7, 96), INT),
        lambda a, _: 2 * a[:, ::-1],
        technique="mbarrier pipeline, a producer warp",
    ),
    KernelCase(
        "named_ping_pong",
        "barriers",
        _ints(5, 64),
        ((5, 64), INT),
        _ping_pong,
        technique="named barriers, arrive and sync",
    ),
    KernelCase(
        "cluster_sum",
        "barriers",
        _ints(3, 700),
        ((12, 1), INT),
        lambda a, _: np.repeat(a.sum(1), 4),
        technique="cluster of 4, reads of distributed shared memory",
    ),
    KernelCase(
        "cluster_rotate",
        "barriers",
        _ints(6, 128),
        ((6, 128), INT),
        _rotated,
        b=_ints(2, 1),
        technique="cluster of 2 by launch attribute, writes to distributed shared memory",
    ),
    KernelCase(
        "remote_arrive",
        "barriers",
        _ints(3, 64),
        ((3, 64), INT),
        lambda a, _: 7 * a[:, ::-1],
        technique="arrival at another block's barrier",
    ),
    KernelCase(
        "register_roles",
        "barriers",
        _ints(5, 128),
        ((1, 128), INT),
        lambda a, _: a.sum(0)[::-1],
        technique="setmaxnreg, warp-specialised",
    ),
    KernelCase(
        "bulk_copies",
        "barriers",
        _ints(4, 360),
        ((4, 360), INT),
        lambda a, _: -a,
        technique="bulk copies in and out, transaction bytes",
    ),
)
