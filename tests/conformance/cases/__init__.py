"""All cases. A unit is one file of kernels."""

from conformance.cases import (
    barriers,
    cp_async,
    cute_copy,
    mma,
    simt,
    tma,
    tma_tfloat32,
    warp_specialized,
    wgmma,
)

CASES = (
    *simt.CASES,
    *cute_copy.CASES,
    *mma.CASES,
    *cp_async.CASES,
    *barriers.CASES,
    *tma.CASES,
    *tma_tfloat32.CASES,
    *wgmma.CASES,
    *warp_specialized.CASES,
)
