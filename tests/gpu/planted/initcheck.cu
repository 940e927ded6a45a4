// Reads a workspace that nobody has written.
#include "cutegen_args.h"
__global__ void relu(float const* x, float const* scratch, float* out, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = scratch[i] > 1e30f ? 0.f : fmaxf(x[i], 0.f);
}
extern "C" size_t cutegen_workspace_bytes(CutegenArgs const* a) {
  return a->x_shape[0] * a->x_shape[1] * sizeof(float);
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  relu<<<(n + 255) / 256, 256, 0, a->stream>>>(a->x, static_cast<float*>(a->workspace), a->out, n);
  return cudaGetLastError();
}
