// playbook: elementwise {"batch": 1, "ctas_per_sm": 8, "persistent": false, "streaming": false, "threads": 256, "vectorized": true}
// 25_Swish: one pass over memory, all arithmetic in registers.
#include "cutegen_args.h"

#include <algorithm>

#include <cute/tensor.hpp>

using namespace cute;

using T = float;  // the type of the arithmetic

constexpr int kThreads = 256;  // per block
constexpr int kVector = 4;  // elements per access: 128 bits of the widest type

// Everything between loads and stores, for one element.
struct Chain {
  CUTE_HOST_DEVICE void operator()(T x_x, float& out) const {
    T const v0 = T(1) / (T(1) + expf(-x_x));
    T const v1 = x_x * v0;
    out = float(v1);
  }
};

__global__ void __launch_bounds__(kThreads) stream(CutegenArgs const a, Chain const chain, int64_t n) {
  int64_t const vectors = n / kVector;
  auto const by_vector = make_layout(make_shape(Int<kVector>{}, vectors));  // (element, vector)
  Tensor g_x = make_tensor(make_gmem_ptr(a.x), by_vector);
  Tensor g_out = make_tensor(make_gmem_ptr(a.out), by_vector);

  int64_t const v = int64_t(blockIdx.x) * int64_t(kThreads) + threadIdx.x;
  if (v < vectors) {
    Tensor r_x = make_tensor<float>(Shape<Int<kVector>>{});
    Tensor r_out = make_tensor<float>(Shape<Int<kVector>>{});
    copy(Copy_Atom<UniversalCopy<uint_bit_t<128>>, float>{}, g_x(_, v), r_x);
    CUTE_UNROLL
    for (int k = 0; k < kVector; ++k) {
      chain(T(r_x(k)), r_out(k));
    }
    copy(Copy_Atom<UniversalCopy<uint_bit_t<128>>, float>{}, r_out, g_out(_, v));
  }
  // what does not fill a vector
  int64_t const i = vectors * kVector + threadIdx.x;
  if (blockIdx.x == 0 && i < n) {
    chain(T(a.x[i]), a.out[i]);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t n = 1;
  for (int64_t extent : a->out_shape) n *= extent;
  if (n == 0) return cudaSuccess;
  Chain const chain{};
  int64_t const tile = int64_t(kThreads) * kVector;
  int64_t blocks = (n + tile - 1) / tile;
  stream<<<unsigned(blocks), kThreads, 0, a->stream>>>(*a, chain, n);
  return cudaGetLastError();
}
