// Half of a warp waits at a barrier that the other half does not reach.
#include "cutegen_args.h"
__global__ void relu(float const* x, float* out, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (threadIdx.x % 32 < 16) __syncthreads();
  if (i < n) out[i] = fmaxf(x[i], 0.f);
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  relu<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
