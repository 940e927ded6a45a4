"""CPU execution of CuTe kernels: C++ headers and the rewriter."""
