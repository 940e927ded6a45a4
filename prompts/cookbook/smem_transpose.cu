// IDEA: a transpose through shared memory: both global accesses run along rows, and a swizzle keeps
//       the writes along rows and the reads along columns of the tile free of bank conflicts.
// FOR: generic, activation, matmul
// ARCH: sm_80
// INTENT: transpose, permute, shared memory, swizzle, bank conflicts, coalescing
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kTile = 32;     // rows and columns: one bank per column
constexpr int kThreads = 256;

// Element (r, c) of the tile lies in bank c ^ r: a column of 32 rows touches 32 banks.
using SmemLayout = decltype(composition(
    Swizzle<5, 0, 5>{}, Layout<Shape<Int<kTile>, Int<kTile>>, Stride<Int<kTile>, _1>>{}));

__global__ void __launch_bounds__(kThreads) transpose(float const* x, float* out, int m, int n) {
  __shared__ float memory[cosize_v<SmemLayout>];
  Tensor sT = make_tensor(make_smem_ptr(memory), SmemLayout{});
  auto tile = make_shape(Int<kTile>{}, Int<kTile>{});
  Tensor gX = local_tile(make_tensor(make_gmem_ptr(x), make_shape(m, n), make_stride(n, Int<1>{})),
                         tile, make_coord(blockIdx.y, blockIdx.x));
  Tensor gO = local_tile(make_tensor(make_gmem_ptr(out), make_shape(n, m), make_stride(m, Int<1>{})),
                         tile, make_coord(blockIdx.x, blockIdx.y));
  int const column = threadIdx.x % kTile, row0 = threadIdx.x / kTile;
  int const m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile;
  CUTE_UNROLL
  for (int row = row0; row < kTile; row += kThreads / kTile) {
    if (m0 + row < m && n0 + column < n) sT(row, column) = gX(row, column);
  }
  __syncthreads();
  CUTE_UNROLL
  for (int row = row0; row < kTile; row += kThreads / kTile) {  // a row of out is a column of x
    if (n0 + row < n && m0 + column < m) gO(row, column) = sT(column, row);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  dim3 const grid(ceil_div(n, kTile), ceil_div(m, kTile));
  transpose<<<grid, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
