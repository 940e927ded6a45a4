// Planted: the issue slots are full of loads, comparisons and barriers that need not be. A softmax whose rows
// are short, a block a row, with a tree in shared memory for every reduction.
#include "cutegen_args.h"

constexpr int kThreads = 256;

template <class Join>
__device__ float over_block(float* shared, float mine, Join join) {
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int apart = kThreads / 2; apart; apart /= 2) {
    if (threadIdx.x < apart) {
      shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + apart]);
    }
    __syncthreads();
  }
  float const all = shared[0];
  __syncthreads();
  return all;
}

__global__ void softmax(float const* x, float* out, int64_t width) {
  __shared__ float shared[kThreads];
  float const* row = x + blockIdx.x * width;
  float top = -INFINITY, sum = 0.f;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) top = fmaxf(top, row[i]);
  top = over_block(shared, top, [](float a, float b) { return fmaxf(a, b); });
  for (int64_t i = threadIdx.x; i < width; i += kThreads) sum += expf(row[i] - top);
  sum = over_block(shared, sum, [](float a, float b) { return a + b; });
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    out[blockIdx.x * width + i] = expf(row[i] - top) / sum;
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  softmax<<<unsigned(a->x_shape[0]), kThreads, 0, a->stream>>>(a->x, a->out, a->x_shape[1]);
  return cudaGetLastError();
}
