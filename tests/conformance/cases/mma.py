"""Tensor-core atoms of a warp.

Products are exact in the model; the sum over K is rounded in the accumulator's type. Where the
hardware cuts bits off while it aligns the addends of one instruction, each may lose a unit of the
accumulator, so the bound counts every addend and one more rounding per instruction.
"""

from collections.abc import Callable

import numpy as np
import torch

from conformance.case import EQUAL_BITS, UNIT_ROUNDOFF, Bound, Exact, KernelCase, Operand, integers
from cutegen.spec import DType

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
S8, U8, S32 = DType.INT8, DType.UINT8, DType.INT32


def product(a: Exact, b: Exact) -> Exact:
    return np.asarray(a @ b.T)


def magnitude(a: Exact, b: Exact) -> Exact:
    return np.asarray(np.abs(a) @ np.abs(b).T)


def tf32(x: Exact) -> Exact:
    """The lower 13 bits cut off, as the tensor cores do."""
    bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(np.float64)


def e4m3(x: Exact) -> Exact:
    """Bytes as eight-bit floats."""
    codes = torch.from_numpy(x.astype(np.uint8)).view(torch.float8_e4m3fn)
    return np.asarray(codes.to(torch.float64).numpy())


def finite_e4m3(rng: np.random.Generator, shape: tuple[int, int]) -> Exact:
    """Every code but the two NaNs."""
    codes = rng.integers(0, 256, shape)
    return np.where(codes & 0x7F == 0x7F, 0, codes)


def gemm(
    name: str,
    unit: str,
    shape: tuple[int, int, int],
    operand: DType,
    accumulator: DType,
    *,
    technique: str,
    kernel: str = "",
    seen: Callable[[Exact], Exact] = lambda x: x,
    draw: Callable[[np.random.Generator, tuple[int, int]], Exact] | None = None,
    bound: tuple[float, float] | None = None,
) -> KernelCase:
    """C[M,N] = A[M,K] B[N,K]^T; ``seen`` is how the instruction sees an operand.

    ``bound`` is the number of roundings and their unit; a rounding per product by default.
    """
    m, n, k = shape
    if draw is None:
        ranges = {S8: (-128, 128), U8: (0, 256)}
        low_high = ranges.get(operand)
        draw = integers(*low_high) if low_high else lambda rng, size: rng.standard_normal(size)
    return KernelCase(
        name,
        unit,
        Operand((m, k), operand, draw),
        ((m, n), accumulator),
        lambda a, b: product(seen(a), seen(b)),
        b=Operand((n, k), operand, draw),
        bound=Bound(
            *(bound or (k, UNIT_ROUNDOFF[accumulator])),
            lambda a, b: magnitude(seen(a), seen(b)),
        )
        if accumulator.is_floating
        else EQUAL_BITS,
        kernel=kernel,
        technique=technique,
    )


CASES = (
    gemm(
        "f16_f32_16x8x16",
        "mma",
        (64, 32, 128),
        F16,
        F32,
        technique="mma, ldmatrix x4, Swizzle<3,3,3>",
    ),
    gemm(
        "f16_f16_16x8x16",
        "mma",
        (32, 64, 64),
        F16,
        F16,
        technique="mma with half sums, ldmatrix x4 x2",
    ),
    gemm("f16_f32_16x8x8", "mma", (32, 32, 64), F16, F32, technique="mma, ldmatrix x2 x1"),
    gemm(
        "bf16_16x8x16_transposed",
        "mma",
        (32, 32, 64),
        BF16,
        F32,
        technique="mma, ldmatrix.trans x4 x2",
    ),
    gemm(
        "bf16_16x8x8",
        "mma",
        (32, 32, 32),
        BF16,
        F32,
        technique="mma, plain loads",
    ),
    gemm(
        "tf32_16x8x8", "mma", (32, 32, 64), F32, F32, technique="mma on truncated floats", seen=tf32
    ),
    gemm("tf32_16x8x4", "mma", (32, 32, 32), F32, F32, technique="mma, plain loads", seen=tf32),
    gemm("f64_8x8x4", "mma", (32, 32, 32), F64, F64, technique="mma in double precision"),
    gemm("s8_16x8x32", "mma", (64, 64, 128), S8, S32, technique="integer mma, ldmatrix of bytes"),
    gemm("u8_16x8x16", "mma", (32, 32, 64), U8, S32, technique="integer mma, unsigned"),
    gemm("s8_8x8x16", "mma", (32, 32, 64), S8, S32, technique="integer mma of Turing"),
    gemm(
        "f16_8x8x4_quadpairs", "mma", (32, 32, 32), F16, F32, technique="mma of Volta's quad pairs"
    ),
    gemm(
        "e4m3_16x8x32",
        "mma",
        (32, 32, 64),
        U8,
        F32,
        technique="mma of eight-bit floats",
        seen=e4m3,
        draw=finite_e4m3,
    ),
)
