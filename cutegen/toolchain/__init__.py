"""Finding compilers and CUTLASS, building through ninja, diagnostics as data."""
