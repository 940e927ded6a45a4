// playbook: elementwise {"batch": 1, "ctas_per_sm": 8, "persistent": false, "streaming": false, "threads": 256, "vectorized": false}
// 25_Swish: one pass over memory, all arithmetic in registers.
#include "cutegen_args.h"

#include <algorithm>

#include <cute/tensor.hpp>

using namespace cute;

using T = float;  // the type of the arithmetic

constexpr int kThreads = 256;  // per block

// Everything between loads and stores, for one element.
struct Chain {
  CUTE_HOST_DEVICE void operator()(T x_x, float& out) const {
    T const v0 = T(1) / (T(1) + expf(-x_x));
    T const v1 = x_x * v0;
    out = float(v1);
  }
};

__global__ void __launch_bounds__(kThreads) stream(CutegenArgs const a, Chain const chain, int64_t n) {
  Tensor g_x = make_tensor(make_gmem_ptr(a.x), make_layout(n));
  Tensor g_out = make_tensor(make_gmem_ptr(a.out), make_layout(n));

  int64_t const i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  chain(T(g_x(i)), g_out(i));
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = 1;
  for (int64_t extent : a->out_shape) n *= extent;
  if (n == 0) return cudaSuccess;
  Chain const chain{};
  int64_t const tile = kThreads;
  int64_t blocks = (n + tile - 1) / tile;
  stream<<<unsigned(blocks), kThreads, 0, a->stream>>>(*a, chain, n);
  return cudaGetLastError();
}
