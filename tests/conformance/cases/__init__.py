"""All cases. A unit is one file of kernels."""

from conformance.cases import barriers, cp_async, cute_copy, mma, simt, tma, warp_specialized, wgmma

CASES = (
    *simt.CASES,
    *cute_copy.CASES,
    *mma.CASES,
    *cp_async.CASES,
    *barriers.CASES,
    *tma.CASES,
    *wgmma.CASES,
    *warp_specialized.CASES,
)
