#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;
constexpr int kThreads = 256;
constexpr int kVec = 4;
constexpr int kLoads = 4;
constexpr int kBlocksPerSm = 4;

__device__ __forceinline__ float f(float x) { return x / (1.0f + __expf(-x)); }

__global__ void swish(float const* __restrict__ x, float* __restrict__ out, int64_t n) {
  Copy_Atom<UniversalCopy<uint128_t>, float> atom;
  int64_t const vectors = n / kVec;
  int64_t const step = int64_t(gridDim.x) * kThreads * kLoads;
  for (int64_t base = int64_t(blockIdx.x) * kThreads * kLoads + threadIdx.x; base < vectors; base += step) {
    Tensor r = make_tensor<float>(Shape<Int<kVec>, Int<kLoads>>{});
    CUTE_UNROLL
    for (int u = 0; u < kLoads; ++u) {
      int64_t v = base + u * kThreads;
      if (v < vectors) copy(atom, make_tensor(make_gmem_ptr(x + v * kVec), Layout<Int<kVec>>{}), r(_, u));
    }
    CUTE_UNROLL
    for (int u = 0; u < kLoads; ++u) {
      int64_t v = base + u * kThreads;
      CUTE_UNROLL
      for (int j = 0; j < kVec; ++j) r(j, u) = f(r(j, u));
      if (v < vectors) copy(atom, r(_, u), make_tensor(make_gmem_ptr(out + v * kVec), Layout<Int<kVec>>{}));
    }
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = a->x_shape[0] * a->x_shape[1];
  int device = 0, sms = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  swish<<<sms * kBlocksPerSm, kThreads, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
