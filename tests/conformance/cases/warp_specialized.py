"""Producers and consumers: TMA, pipelines and wgmma together."""

from conformance.cases.mma import F16, F32, gemm

CASES = (
    gemm(
        "tma_wgmma_gemm",
        "warp_specialized",
        (64, 64, 320),
        F16,
        F32,
        technique="warp-specialised PipelineTmaAsync, TMA, wgmma, setmaxnreg",
    ),
    gemm(
        "tma_wgmma_gemm_multicast",
        "warp_specialized",
        (128, 32, 256),
        F16,
        F32,
        technique="the same in a cluster of 2 with multicast",
        kernel="tma_wgmma_gemm",
    ),
)
