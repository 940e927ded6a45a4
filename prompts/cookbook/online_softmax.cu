// IDEA: softmax reads its row once for both maximum and sum: a pair (m, s) stands for s * exp(m),
//       and pairs are merged by rescaling. The row stays in shared memory if it fits, so that
//       writing the result reads no DRAM.
// FOR: reduction
// ARCH: sm_80
// INTENT: softmax, online, running maximum, rescale, one pass, keep the row
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kKept = 8192;  // floats of a row that shared memory keeps

struct Pair {
  float top, sum;  // stands for sum * exp(top)
};

__device__ Pair merged(Pair a, Pair b) {
  float const top = fmaxf(a.top, b.top);
  if (top == -INFINITY) return {top, 0.0f};  // nothing yet: inf - inf would be NaN
  return {top, a.sum * expf(a.top - top) + b.sum * expf(b.top - top)};
}

__device__ Pair warp_merged(Pair pair) {
  CUTE_UNROLL
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    Pair const other{__shfl_xor_sync(0xffffffffu, pair.top, offset),
                     __shfl_xor_sync(0xffffffffu, pair.sum, offset)};
    pair = merged(pair, other);
  }
  return pair;
}

__global__ void __launch_bounds__(kThreads) softmax_rows(float const* x, float* out, int m, int n) {
  __shared__ float row[kKept];
  __shared__ Pair partial[kWarps];
  auto layout = make_layout(make_shape(m, n), make_stride(n, Int<1>{}));
  Tensor gX = make_tensor(make_gmem_ptr(x), layout)(blockIdx.x, _);
  Tensor gO = make_tensor(make_gmem_ptr(out), layout)(blockIdx.x, _);
  Pair pair{-INFINITY, 0.0f};
  for (int i = threadIdx.x; i < n; i += kThreads) {
    float const value = gX(i);
    if (i < kKept) row[i] = value;
    pair = merged(pair, {value, 1.0f});
  }
  int const warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  pair = warp_merged(pair);
  if (lane == 0) partial[warp] = pair;
  __syncthreads();
  pair = warp_merged(lane < kWarps ? partial[lane] : Pair{-INFINITY, 0.0f});  // in every warp
  float const scale = 1.0f / pair.sum;
  for (int i = threadIdx.x; i < n; i += kThreads) {  // each thread reads back what it wrote itself
    gO(i) = expf((i < kKept ? row[i] : gX(i)) - pair.top) * scale;
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  softmax_rows<<<m, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
