"""Warp-group products; the bounds are those of the warp's, except for eight-bit floats.

There the H200 keeps 13 fraction bits while it aligns and adds the products of an instruction,
whose K is 32; mma.sync on the same operands keeps more. The emulator adds in float32.
"""

from conformance.cases.mma import BF16, F16, F32, S8, S32, U8, e4m3, finite_e4m3, gemm, tf32

CASES = (
    gemm("wgmma_f16_kk_128", "wgmma", (128, 64, 128), F16, F32, technique="wgmma SS, K by K, 128"),
    gemm(
        "wgmma_f16_mn_mn_128", "wgmma", (64, 64, 64), F16, F32, technique="wgmma SS, MN by MN, 128"
    ),
    gemm(
        "wgmma_bf16_k64_mn32",
        "wgmma",
        (64, 64, 64),
        BF16,
        F32,
        technique="wgmma SS, K by MN, 64 and 32",
    ),
    gemm(
        "wgmma_bf16_mn64_k32",
        "wgmma",
        (64, 32, 64),
        BF16,
        F32,
        technique="wgmma SS, MN by K, 64 and 32",
    ),
    gemm("wgmma_f16_unswizzled", "wgmma", (64, 32, 64), F16, F32, technique="wgmma SS, no swizzle"),
    gemm("wgmma_f16_rs_mn_128", "wgmma", (64, 64, 64), F16, F32, technique="wgmma RS, K by MN"),
    gemm("wgmma_f16_half_sums", "wgmma", (64, 32, 64), F16, F16, technique="wgmma with half sums"),
    gemm("wgmma_tf32", "wgmma", (64, 32, 64), F32, F32, technique="wgmma, tf32", seen=tf32),
    gemm("wgmma_s8", "wgmma", (64, 64, 128), S8, S32, technique="wgmma, integers"),
    gemm(
        "wgmma_e4m3",
        "wgmma",
        (64, 32, 128),
        U8,
        F32,
        technique="wgmma, eight-bit floats",
        seen=e4m3,
        draw=finite_e4m3,
        bound=(2 * 128 / 32, 2.0**-13),
    ),
)
