// CUDA's declaration specifiers. `__shared__` and `__noinline__` are the rewriter's business:
// the first becomes storage of the block, the second is a word that libstdc++ uses itself.
#pragma once

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)

// What a candidate sees in place of __CUDA_ARCH__ and __CUDACC__, which CUTLASS must not see:
// its headers would take the branches that hold PTX.
#define CUTEGEN_EMU_CUDA_ARCH 900
#define CUTEGEN_EMU_CUDACC 1

// CuTe's types of TMA exist from this version of nvcc on.
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 6
