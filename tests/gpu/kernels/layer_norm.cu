// Layer norm of rows, one block a row: the mean first, then the variance about it.
#include "cutegen_args.h"

constexpr int kThreads = 256;

__device__ float sum_of_block(float value, float* shared) {
  for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  float all = 0.f;
  for (int warp = 0; warp < kThreads / 32; ++warp) all += shared[warp];
  return all;
}

__global__ void layer_norm(float const* x, float const* weight, float const* bias, float* out,
                           int64_t width) {
  __shared__ float shared[kThreads / 32];
  float const* row = x + blockIdx.x * width;
  float part = 0.f;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) part += row[i];
  float const mean = sum_of_block(part, shared) / float(width);
  part = 0.f;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    part += (row[i] - mean) * (row[i] - mean);
  }
  float const scale = rsqrtf(sum_of_block(part, shared) / float(width) + 1e-5f);
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    out[blockIdx.x * width + i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  layer_norm<<<unsigned(a->x_shape[0]), kThreads, 0, a->stream>>>(
      a->x, a->norm_weight, a->norm_bias, a->out, a->x_shape[1]);
  return cudaGetLastError();
}
