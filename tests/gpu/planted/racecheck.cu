// A barrier is missing between threads that write and threads that read.
#include "cutegen_args.h"
__global__ void relu(float const* x, float* out, int64_t n) {
  __shared__ float tile[128];
  int64_t i = blockIdx.x * int64_t(128) + threadIdx.x;
  int across = threadIdx.x ^ 127;
  int64_t j = i - threadIdx.x + across;
  if (i < n) tile[threadIdx.x] = x[i];
  if (j < n) out[j] = tile[across] > 0 ? tile[across] : 0.f;
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  relu<<<(n + 127) / 128, 128, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
