// C[m,n] = sum over k of A[m,k] B[n,k] in half precision on tensor cores: tiles of 128 x 128 x 64
// through swizzled shared memory, three stages of cp.async, ldmatrix, and 16 x 8 x 16 products.
#include <cute/tensor.hpp>

#include "cutegen_args.h"

using namespace cute;

using Block = Shape<_128, _128, _64>;
using Stages = _3;
using Rows = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Staged = decltype(tile_to_shape(Rows{}, Shape<_128, _64, Stages>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, cute::Tile<_32, _32, _16>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

struct Fault {
  bool early;        // waits for one group too few
  bool unsynced;     // no barrier between the last read of a stage and its next load
};

__global__ void __launch_bounds__(128)
gemm_kernel(half_t const* A, half_t const* B, float* C, int M, int N, int K, Fault fault) {
  extern __shared__ half_t storage[];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
  auto coord = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, Block{}, coord, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, Block{}, coord, Step<X, _1, _1>{});
  Tensor gC = local_tile(mC, Block{}, coord, Step<_1, _1, X>{});
  Tensor sA = make_tensor(make_smem_ptr(storage), Staged{});
  Tensor sB = make_tensor(make_smem_ptr(storage + cosize_v<Staged>), Staged{});

  Load load;
  auto thread_load = load.get_slice(threadIdx.x);
  Tensor tAgA = thread_load.partition_S(gA);
  Tensor tAsA = thread_load.partition_D(sA);
  Tensor tBgB = thread_load.partition_S(gB);
  Tensor tBsB = thread_load.partition_D(sB);

  Mma mma;
  auto thread_mma = mma.get_slice(threadIdx.x);
  Tensor rA = thread_mma.partition_fragment_A(sA(_, _, 0));
  Tensor rB = thread_mma.partition_fragment_B(sB(_, _, 0));
  Tensor gCt = thread_mma.partition_C(gC);
  Tensor rC = thread_mma.make_fragment_C(gCt);
  clear(rC);
  Copy_Atom<SM75_U32x4_LDSM_N, half_t> ldmatrix;
  auto load_a = make_tiled_copy_A(ldmatrix, mma);
  auto load_b = make_tiled_copy_B(ldmatrix, mma);
  auto thread_a = load_a.get_slice(threadIdx.x);
  auto thread_b = load_b.get_slice(threadIdx.x);
  Tensor tCsA = thread_a.partition_S(sA);
  Tensor tCrA = thread_a.retile_D(rA);
  Tensor tCsB = thread_b.partition_S(sB);
  Tensor tCrB = thread_b.retile_D(rB);

  int const tiles = size<2>(gA);
  for (int t = 0; t < Stages{} - 1; ++t) {
    if (t < tiles) {
      copy(load, tAgA(_, _, _, t), tAsA(_, _, _, t));
      copy(load, tBgB(_, _, _, t), tBsB(_, _, _, t));
    }
    cp_async_fence();
  }
  for (int t = 0; t < tiles; ++t) {
    if (fault.early) {
      cp_async_wait<2>();
    } else {
      cp_async_wait<1>();
    }
    if (!fault.unsynced) __syncthreads();
    int const next = t + 2, stage = t % 3;
    if (next < tiles) {
      copy(load, tAgA(_, _, _, next), tAsA(_, _, _, next % 3));
      copy(load, tBgB(_, _, _, next), tBsB(_, _, _, next % 3));
    }
    cp_async_fence();
    for (int k = 0; k < size<2>(rA); ++k) {
      copy(load_a, tCsA(_, _, k, stage), tCrA(_, _, k));
      copy(load_b, tCsB(_, _, k, stage), tCrB(_, _, k));
      gemm(mma, rA(_, _, k), rB(_, _, k), rC);
    }
  }
  copy(rC, gCt);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const bytes = 2 * cosize_v<Staged> * sizeof(half_t);
  cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  Fault const fault{a->calls("early"), a->calls("unsynced")};
  gemm_kernel<<<dim3(a->m / 128, a->n / 128), 128, bytes, a->stream>>>(
      reinterpret_cast<half_t const*>(a->a), reinterpret_cast<half_t const*>(a->b), a->out, a->m, a->n, a->k, fault);
  return cudaGetLastError();
}
