"""Asynchronous copies, and stmatrix."""

import numpy as np

from conformance.case import Exact, KernelCase, Operand
from conformance.cases.mma import F16, F32, gemm


def _tiles_transposed(a: Exact, _: Exact) -> Exact:
    rows, columns = -(-a.shape[0] // 32), -(-a.shape[1] // 32)
    full = np.zeros((rows * 32, columns * 32))
    full[: a.shape[0], : a.shape[1]] = a
    return full.reshape(rows, 32, columns, 32).transpose(0, 2, 3, 1)


CASES = (
    KernelCase(
        "staged_scale",
        "cp_async",
        Operand((4, 1024)),
        ((4, 1024), F32),
        lambda a, _: (3 * a[:, ::-1]).astype(np.float32),
        technique="cp.async in three stages",
    ),
    KernelCase(
        "zero_fill",
        "cp_async",
        Operand((45, 70)),
        ((24, 256), F32),
        _tiles_transposed,
        technique="cp.async with zero fill",
    ),
    gemm(
        "multistage_gemm",
        "cp_async",
        (128, 64, 160),
        F16,
        F32,
        technique="cp.async pipeline, swizzle, ldmatrix, mma",
    ),
    gemm(
        "multistage_gemm_tail",
        "cp_async",
        (100, 32, 64),
        F16,
        F32,
        technique="cp.async pipeline with a predicated tail",
        kernel="multistage_gemm",
    ),
    KernelCase(
        "stmatrix_rows",
        "cp_async",
        Operand((64, 32), F16),
        ((64, 32), F16),
        lambda a, _: a,
        technique="stmatrix x4 x2, plain and transposing",
    ),
)
