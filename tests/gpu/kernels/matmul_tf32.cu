// A product of fp32 matrices on the TF32 tensor cores of Ampere and later.
//
// One pass rounds the operands to TF32 and loses 13 bits of each. Three passes split every
// operand in a high and a low TF32 part, and drop only the product of the low parts. The tensor
// cores truncate where they add, always towards zero, so what they add up is kept short: every
// tile of K has sums of its own, which are added with rounding (measured on an H200 at K = 4096:
// 2.9e-5 of relative error with one running sum).
#include "cutegen_args.h"
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kPasses = 3;  // 1 or 3

constexpr int kTileM = 64, kTileN = 64, kTileK = 16;
constexpr int kThreads = 128;

using Multiplier = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>>;
// Padded, so that the rows and columns that a warp reads fall into different banks.
using LayoutA = Layout<Shape<Int<kTileM>, Int<kTileK>>, Stride<Int<kTileK + 4>, _1>>;  // (m, k)
using LayoutB = Layout<Shape<Int<kTileN>, Int<kTileK>>, Stride<_1, Int<kTileN + 8>>>;  // (n, k)

// The parts of fp32 values that TF32 can hold.
template <class Values, class Parts>
__device__ void split(Values const& values, Parts& high, Parts& low) {
  CUTE_UNROLL
  for (int i = 0; i < size(values); ++i) {
    float const value = values(i);
    high(i) = tfloat32_t(value);
    low(i) = tfloat32_t(value - float(high(i)));
  }
}

__global__ void __launch_bounds__(kThreads)
multiply(float const* A, float const* B, float* C, int M, int N, int K) {
  __shared__ alignas(16) float a_words[cosize_v<LayoutA>];
  __shared__ alignas(16) float b_words[cosize_v<LayoutB>];
  Tensor sA = make_tensor(make_smem_ptr(a_words), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(b_words), LayoutB{});
  int const m0 = blockIdx.y * kTileM, n0 = blockIdx.x * kTileN;

  Multiplier multiplier;
  auto thread = multiplier.get_slice(threadIdx.x);
  Tensor tCsA = thread.partition_A(sA);  // (mma, m, k)
  Tensor tCsB = thread.partition_B(sB);  // (mma, n, k)
  Tensor where = thread.partition_C(make_identity_tensor(Shape<Int<kTileM>, Int<kTileN>>{}));
  Tensor sums = partition_fragment_C(multiplier, Shape<Int<kTileM>, Int<kTileN>>{});
  Tensor tile_sums = make_tensor_like(sums);
  clear(sums);

  for (int k0 = 0; k0 < K; k0 += kTileK) {
    for (int i = threadIdx.x; i < kTileM * kTileK; i += kThreads) {
      int const m = i / kTileK, k = i % kTileK;
      bool const inside = m0 + m < M && k0 + k < K;
      sA(m, k) = inside ? A[int64_t(m0 + m) * K + k0 + k] : 0.f;
    }
    for (int i = threadIdx.x; i < kTileN * kTileK; i += kThreads) {
      int const n = i % kTileN, k = i / kTileN;
      bool const inside = n0 + n < N && k0 + k < K;
      sB(n, k) = inside ? B[int64_t(k0 + k) * N + n0 + n] : 0.f;
    }
    __syncthreads();
    clear(tile_sums);
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tCsA); ++k) {
      auto a_high = make_tensor<tfloat32_t>(shape(tCsA(_, _, k)));
      auto b_high = make_tensor<tfloat32_t>(shape(tCsB(_, _, k)));
      auto a_low = make_tensor_like(a_high);
      auto b_low = make_tensor_like(b_high);
      split(tCsA(_, _, k), a_high, a_low);
      split(tCsB(_, _, k), b_high, b_low);
      if constexpr (kPasses == 3) {  // the small terms first
        gemm(multiplier, a_low, b_high, tile_sums);
        gemm(multiplier, a_high, b_low, tile_sums);
      }
      gemm(multiplier, a_high, b_high, tile_sums);
    }
    CUTE_UNROLL
    for (int i = 0; i < size(sums); ++i) sums(i) += tile_sums(i);
    __syncthreads();
  }

  CUTE_UNROLL
  for (int i = 0; i < size(sums); ++i) {
    int const m = m0 + get<0>(where(i)), n = n0 + get<1>(where(i));
    if (m < M && n < N) C[int64_t(m) * N + n] = sums(i);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const M = int(a->A_shape[0]), K = int(a->A_shape[1]), N = int(a->B_shape[1]);
  if (M == 0 || N == 0) return cudaSuccess;
  dim3 const blocks((N + kTileN - 1) / kTileN, (M + kTileM - 1) / kTileM);
  multiply<<<blocks, kThreads, 0, a->stream>>>(a->A, a->B, a->out, M, N, K);
  return cudaGetLastError();
}
