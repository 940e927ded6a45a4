// Softmax of rows, one block a row, online: the maximum and the sum in one pass.
#include "cutegen_args.h"

constexpr int kThreads = 512;

struct Partial {
  float top, sum;
};

__device__ Partial join(Partial a, Partial b) {
  float const top = fmaxf(a.top, b.top);
  if (top == -INFINITY) return {top, 0.f};
  return {top, a.sum * __expf(a.top - top) + b.sum * __expf(b.top - top)};
}

__global__ void softmax(float const* x, float* out, int64_t width) {
  __shared__ Partial shared[kThreads / 32];
  float const* row = x + blockIdx.x * width;
  Partial mine{-INFINITY, 0.f};
  for (int64_t i = threadIdx.x; i < width; i += kThreads) mine = join(mine, {row[i], 1.f});
  for (int apart = 16; apart; apart /= 2) {
    mine = join(mine, {__shfl_xor_sync(~0u, mine.top, apart), __shfl_xor_sync(~0u, mine.sum, apart)});
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
  __syncthreads();
  Partial all = shared[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) all = join(all, shared[warp]);
  float const scale = 1.f / all.sum;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    out[blockIdx.x * width + i] = __expf(row[i] - all.top) * scale;
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  softmax<<<unsigned(a->x_shape[0]), kThreads, 0, a->stream>>>(a->x, a->out, a->x_shape[1]);
  return cudaGetLastError();
}
