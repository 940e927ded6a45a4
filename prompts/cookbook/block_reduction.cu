// IDEA: long rows: one block per row. Registers first, then shuffles within each warp, then one
//       value per warp through shared memory, which the first warp reduces.
// FOR: reduction
// ARCH: sm_80
// INTENT: block reduction, long rows, tree, shared memory, norm
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kChains = 4;  // independent sums per thread: additions need not wait for each other

__device__ float warp_sum(float value) {
  CUTE_UNROLL
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// The sum over the block, in every thread of the first warp.
__device__ float block_sum(float value, float* partial) {
  int const warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();  // partial is complete
  return warp == 0 ? warp_sum(lane < kWarps ? partial[lane] : 0.0f) : 0.0f;
}

__global__ void __launch_bounds__(kThreads) row_norms(float const* x, float* out, int m, int n) {
  __shared__ float partial[kWarps];
  Tensor gX =
      make_tensor(make_gmem_ptr(x), make_shape(m, n), make_stride(n, Int<1>{}))(blockIdx.x, _);
  Tensor sums = make_tensor<float>(Int<kChains>{});
  clear(sums);
  for (int first = threadIdx.x; first < n; first += kChains * kThreads) {
    CUTE_UNROLL
    for (int k = 0; k < kChains; ++k) {
      int const i = first + k * kThreads;
      float const value = i < n ? gX(i) : 0.0f;  // the neutral element past the end
      sums(k) += value * value;
    }
  }
  float const total = block_sum((sums(0) + sums(1)) + (sums(2) + sums(3)), partial);
  if (threadIdx.x == 0) out[blockIdx.x] = sqrtf(total);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  row_norms<<<m, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
