"""Faults, planted one at a time in kernels that are right."""

from conformance.mutants import cute_copy, simt

MUTANTS = (*simt.MUTANTS, *cute_copy.MUTANTS)
