// IDEA: an elementwise kernel is a stream: 128-bit accesses, several independent loads before the
//       first use, a grid of a few blocks per multiprocessor that strides over the rest.
// FOR: activation, generic
// ARCH: sm_80
// INTENT: vectors, loads in flight, persistent grid, grid stride, tail
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kThreads = 256;
constexpr int kVector = 4;    // floats in 128 bits
constexpr int kInFlight = 4;  // vectors that each thread has on their way at once
constexpr int kBlocks = 132 * 4;

__device__ float swish(float v) { return v / (1.0f + expf(-v)); }

__global__ void __launch_bounds__(kThreads) swish_stream(float const* x, float* out, int64_t n) {
  int64_t const vectors = n / kVector;  // pointers of the contract are 16-byte aligned
  Tensor vX = make_tensor(make_gmem_ptr(reinterpret_cast<uint128_t const*>(x)), vectors);
  Tensor vO = make_tensor(make_gmem_ptr(reinterpret_cast<uint128_t*>(out)), vectors);
  int64_t const round = int64_t(gridDim.x) * kThreads;
  for (int64_t first = int64_t(blockIdx.x) * kThreads + threadIdx.x; first < vectors;
       first += kInFlight * round) {
    Tensor held = make_tensor<uint128_t>(Int<kInFlight>{});
    CUTE_UNROLL
    for (int k = 0; k < kInFlight; ++k) {  // all loads first: none waits for arithmetic
      if (first + k * round < vectors) held(k) = vX(first + k * round);
    }
    Tensor values = recast<float>(held);
    CUTE_UNROLL
    for (int i = 0; i < size(values); ++i) values(i) = swish(values(i));
    CUTE_UNROLL
    for (int k = 0; k < kInFlight; ++k) {
      if (first + k * round < vectors) vO(first + k * round) = held(k);
    }
  }
  int64_t const rest = vectors * kVector + threadIdx.x;  // fewer than kVector elements are left
  if (blockIdx.x == 0 && rest < n) out[rest] = swish(x[rest]);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t const n = a->x_shape[0] * a->x_shape[1];
  int64_t const needed = ceil_div(ceil_div(n, int64_t(kVector)), int64_t(kThreads));
  int const blocks = int(needed < 1 ? 1 : needed < kBlocks ? needed : kBlocks);
  swish_stream<<<blocks, kThreads, 0, a->stream>>>(a->x, a->out, n);
  return cudaGetLastError();
}
