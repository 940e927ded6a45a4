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

AWAITING = frozenset({"tma_wgmma_gemm_multicast"})
"""Right on a GPU, and not yet on the emulator: its watcher does not see that a warp group's wait
orders the reads of all its threads before another block's next copy, and reports a race."""
