"""Faults, planted one at a time in kernels that are right."""

from conformance.mutants import barriers, cp_async, cute_copy, simt, tma

MUTANTS = (
    *simt.MUTANTS,
    *cute_copy.MUTANTS,
    *cp_async.MUTANTS,
    *barriers.MUTANTS,
    *tma.MUTANTS,
)
