// Swish, four values per access and thread.
#include "cutegen_args.h"
#include <cute/tensor.hpp>

// device: begin
using namespace cute;

constexpr int kThreads = 256;
constexpr int kVector = 4;

__global__ void __launch_bounds__(kThreads) swish(float const* x, float* out, int64_t n) {
  int64_t const vectors = n / kVector;
  auto const by_vector = make_layout(make_shape(Int<kVector>{}, vectors));
  Tensor g_x = make_tensor(make_gmem_ptr(x), by_vector);
  Tensor g_out = make_tensor(make_gmem_ptr(out), by_vector);
  int64_t const v = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < vectors) {
    Tensor values = make_tensor<float>(Shape<Int<kVector>>{});
    copy(Copy_Atom<UniversalCopy<uint_bit_t<128>>, float>{}, g_x(_, v), values);
    CUTE_UNROLL
    for (int i = 0; i < kVector; ++i) values(i) = values(i) / (1.f + expf(-values(i)));
    copy(Copy_Atom<UniversalCopy<uint_bit_t<128>>, float>{}, values, g_out(_, v));
  }
  int64_t const rest = vectors * kVector + threadIdx.x;  // what does not fill a vector
  if (blockIdx.x == 0 && rest < n) out[rest] = x[rest] / (1.f + expf(-x[rest]));
}

static cudaError_t launch_swish(float const* x, float* out, int64_t n, cudaStream_t stream) {
  int64_t const tile = int64_t(kThreads) * kVector;
  swish<<<unsigned((n + tile - 1) / tile), kThreads, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}
// device: end

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  return launch_swish(a->x, a->out, a->x_shape[0] * a->x_shape[1], a->stream);
}
