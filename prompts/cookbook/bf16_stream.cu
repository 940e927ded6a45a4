// IDEA: sixteen-bit streams: eight elements per 128-bit access, arithmetic in fp32, one rounding at
//       the end. A type of half the width halves the time, for the bytes are what is paid for.
// FOR: activation, generic
// ARCH: sm_80
// INTENT: bf16, half, conversion, vectors, stream, mixed precision
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;
using Element = cutlass::bfloat16_t;

constexpr int kThreads = 256;
constexpr int kVector = 8;    // elements in 128 bits
constexpr int kInFlight = 2;  // vectors per thread and operand

// out = x * scale + shift, elementwise.
__global__ void __launch_bounds__(kThreads)
    axpb(Element const* x, Element const* scale, Element const* shift, Element* out, int64_t n) {
  int64_t const vectors = n / kVector;
  auto as_vectors = [&](auto* p) { return make_tensor(make_gmem_ptr(recast_ptr<uint128_t>(p)), vectors); };
  Tensor vX = as_vectors(const_cast<Element*>(x));
  Tensor vS = as_vectors(const_cast<Element*>(scale));
  Tensor vB = as_vectors(const_cast<Element*>(shift));
  Tensor vO = as_vectors(out);
  int64_t const first = int64_t(blockIdx.x) * kThreads * kInFlight + threadIdx.x;
  Tensor rX = make_tensor<uint128_t>(Int<kInFlight>{});
  Tensor rS = make_fragment_like(rX);
  Tensor rB = make_fragment_like(rX);
  CUTE_UNROLL
  for (int k = 0; k < kInFlight; ++k) {
    if (int64_t const at = first + k * kThreads; at < vectors) {
      rX(k) = vX(at);
      rS(k) = vS(at);
      rB(k) = vB(at);
    }
  }
  Tensor eX = recast<Element>(rX);
  Tensor eS = recast<Element>(rS);
  Tensor eB = recast<Element>(rB);
  CUTE_UNROLL
  for (int i = 0; i < size(eX); ++i) {
    eX(i) = Element(float(eX(i)) * float(eS(i)) + float(eB(i)));
  }
  CUTE_UNROLL
  for (int k = 0; k < kInFlight; ++k) {
    if (int64_t const at = first + k * kThreads; at < vectors) vO(at) = rX(k);
  }
  int64_t const rest = vectors * kVector + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) {
    out[rest] = Element(float(x[rest]) * float(scale[rest]) + float(shift[rest]));
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t const n = a->x_shape[0] * a->x_shape[1];
  int64_t const blocks = ceil_div(n, int64_t(kVector * kThreads * kInFlight));
  axpb<<<unsigned(blocks), kThreads, 0, a->stream>>>(a->x, a->scale, a->shift, a->out, n);
  return cudaGetLastError();
}
