#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;

template <class SmemLayoutA>
__global__ void matmul(half_t const* A, float* C, int K) {
  extern __shared__ char smem[];
  auto swizzled = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  TiledMMA mma = make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2, _1>>{});
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, Layout<Shape<_16, _8>>{});
  Tensor sA = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(smem)), SmemLayoutA{});
  Tensor acc = partition_fragment_C(mma, Shape<_128, _128>{});
  for (int k = 0; k < K; ++k) {
    copy(load, sA, sA);
    cp_async_fence();
    cp_async_wait<2>();
    __syncthreads();
    gemm(mma, sA, sA, acc);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int bytes = 3 * 128 * 64 * sizeof(half_t);
  matmul<Layout<_1>><<<1, 128, bytes, a->stream>>>(a->A, a->out, 4);
  return cudaGetLastError();
}
