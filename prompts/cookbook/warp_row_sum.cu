// IDEA: short rows: one warp per row, wide loads where rows are aligned, then a butterfly of
//       shuffles. No shared memory and no barrier; the order of additions is fixed.
// FOR: reduction
// ARCH: sm_80
// INTENT: row reduction, warp per row, shuffle, butterfly, short rows
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kWarp = 32;
constexpr int kRows = 4;  // rows, and warps, per block
constexpr int kThreads = kRows * kWarp;
constexpr int kVector = 4;

__device__ float warp_sum(float value) {
  CUTE_UNROLL
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);  // every lane ends with the sum
  }
  return value;
}

__global__ void __launch_bounds__(kThreads) row_sums(float const* x, float* out, int m, int n) {
  int const row = blockIdx.x * kRows + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (row >= m) return;  // a whole warp leaves, so that the shuffles below are complete
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(m, n), make_stride(n, Int<1>{}))(row, _);
  float sum = 0.0f;
  if (n % kVector == 0) {
    Tensor vX = recast<uint128_t>(gX);  // (n / 4)
    for (int i = lane; i < size(vX); i += kWarp) {
      Tensor values = make_tensor<float>(Int<kVector>{});
      recast<uint128_t>(values)(0) = vX(i);
      sum += (values(0) + values(1)) + (values(2) + values(3));
    }
  } else {
    for (int i = lane; i < n; i += kWarp) sum += gX(i);
  }
  sum = warp_sum(sum);
  if (lane == 0) out[row] = sum;
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  row_sums<<<ceil_div(m, kRows), kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
