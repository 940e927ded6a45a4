// Known bytes: every element read once and written once, 128 bits at a time.
#include "cutegen_args.h"

constexpr int kThreads = 256;

__global__ void copy(float4 const* x, float4* out, int64_t vectors) {
  int64_t const i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < vectors) out[i] = x[i];
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  if (a->x_shape[0] % 4) return cudaErrorNotSupported;
  int64_t const vectors = a->x_shape[0] / 4;
  copy<<<unsigned((vectors + kThreads - 1) / kThreads), kThreads, 0, a->stream>>>(
      reinterpret_cast<float4 const*>(a->x), reinterpret_cast<float4*>(a->out), vectors);
  return cudaGetLastError();
}
