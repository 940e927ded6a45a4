#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;

constexpr int kThreads = 256;

__device__ __forceinline__ float swish(float x) {
  return x / (1.0f + expf(-x));
}

__global__ void kernel(float const* __restrict__ x, float* __restrict__ out, int64_t n) {
  Tensor gX = make_tensor(make_gmem_ptr(x), make_layout(n));
  Tensor gO = make_tensor(make_gmem_ptr(out), make_layout(n));
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) gO(i) = swish(gX(i));
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  int64_t blocks = (n + kThreads - 1) / kThreads;
  kernel<<<blocks, kThreads, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
