// Reads one element behind the end.
#include "cutegen_args.h"
__global__ void relu(float const* x, float* out, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.f) + (x[i + 1] > 1e30f);
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  relu<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
