"""All cases. A unit is one file of kernels."""

from conformance.cases import cp_async, cute_copy, mma, simt

CASES = (*simt.CASES, *cute_copy.CASES, *mma.CASES, *cp_async.CASES)
