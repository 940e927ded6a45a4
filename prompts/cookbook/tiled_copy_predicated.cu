// IDEA: a TiledCopy moves a two-dimensional tile by 128-bit accesses; an identity tensor, tiled and
//       partitioned like the data, tells each vector whether it lies inside.
// FOR: activation, generic
// ARCH: sm_80
// INTENT: vectorized copy, tiles, predicate, tail, edge
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kTileM = 16, kTileN = 128;  // elements of a block's tile
constexpr int kThreads = 128;

// kVector floats per access: 4 where every row starts at a multiple of 16 bytes, else 1.
template <int kVector, class Access>
__global__ void __launch_bounds__(kThreads) relu_tiles(float const* x, float* out, int m, int n) {
  auto shape = make_shape(m, n);
  auto layout = make_layout(shape, make_stride(n, Int<1>{}));  // without strides: column-major!
  auto tile = make_shape(Int<kTileM>{}, Int<kTileN>{});
  auto where = make_coord(blockIdx.y, blockIdx.x);
  Tensor gX = local_tile(make_tensor(make_gmem_ptr(x), layout), tile, where);
  Tensor gO = local_tile(make_tensor(make_gmem_ptr(out), layout), tile, where);
  Tensor cX = local_tile(make_identity_tensor(shape), tile, where);  // its elements: coordinates

  auto copy_tile = make_tiled_copy(Copy_Atom<Access, float>{},
                                   Layout<Shape<_4, _32>, Stride<_32, _1>>{},  // a warp per row
                                   Layout<Shape<_1, Int<kVector>>>{});
  auto mine = copy_tile.get_slice(threadIdx.x);
  Tensor tX = mine.partition_S(gX);  // (vector, rows, columns)
  Tensor tO = mine.partition_D(gO);
  Tensor tC = mine.partition_S(cX);
  Tensor rX = make_fragment_like(tX);
  Tensor inside = make_tensor<bool>(make_shape(size<1>(tX), size<2>(tX)));
  CUTE_UNROLL
  for (int i = 0; i < size<1>(tC); ++i) {
    CUTE_UNROLL
    for (int j = 0; j < size<2>(tC); ++j) {
      inside(i, j) = elem_less(tC(0, i, j), shape);  // n % kVector == 0: all of a vector or none
    }
  }
  copy_if(copy_tile, inside, tX, rX);
  CUTE_UNROLL
  for (int i = 0; i < size(rX); ++i) rX(i) = rX(i) < 0.0f ? 0.0f : rX(i);  // a NaN stays one
  copy_if(copy_tile, inside, rX, tO);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  dim3 const grid(ceil_div(n, kTileN), ceil_div(m, kTileM));
  if (n % 4 == 0) {
    relu_tiles<4, UniversalCopy<uint128_t>><<<grid, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  } else {
    relu_tiles<1, UniversalCopy<float>><<<grid, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  }
  return cudaGetLastError();
}
