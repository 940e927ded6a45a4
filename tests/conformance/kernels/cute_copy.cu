// CuTe without special instructions: tiled copies, predicates, swizzles, layouts, tiled FMA.
#include <cute/tensor.hpp>

#include "cutegen_args.h"

using namespace cute;

namespace tiled_copy_tail {  // 128-bit vectors on whole tiles, predicates per element on the last
template <class Tiled>
__global__ void kernel(float const* a, float* out, int rows, int columns, Tiled tiled) {
  auto shape = make_shape(rows, columns);
  auto tile = make_shape(_16{}, _64{});
  auto coord = make_coord(blockIdx.y, blockIdx.x);
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(a), shape, LayoutRight{}), tile, coord);
  Tensor gOut = local_tile(make_tensor(make_gmem_ptr(out), shape, LayoutRight{}), tile, coord);
  Tensor cOut = local_tile(make_identity_tensor(shape), tile, coord);
  auto thread = tiled.get_slice(threadIdx.x);
  Tensor tA = thread.partition_S(gA);
  Tensor tOut = thread.partition_D(gOut);
  Tensor tC = thread.partition_S(cOut);
  Tensor values = make_fragment_like(tOut);
  bool const whole = (blockIdx.y + 1) * 16 <= rows && (blockIdx.x + 1) * 64 <= columns;
  if (whole) {
    copy(tiled, tA, values);
  } else {
    for (int i = 0; i < size(values); ++i)
      if (elem_less(tC(i), shape)) values(i) = tA(i);
  }
  for (int i = 0; i < size(values); ++i) values(i) = -values(i);
  if (whole) {
    copy(tiled, values, tOut);
  } else {
    for (int i = 0; i < size(values); ++i)
      if (elem_less(tC(i), shape)) tOut(i) = values(i);
  }
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  kernel<<<dim3(ceil_div(columns, 64), ceil_div(rows, 16)), 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), rows, columns, tiled);
  return cudaGetLastError();
}
}  // namespace tiled_copy_tail

namespace transpose_swizzled {  // 64 x 64 through shared memory without bank conflicts
__global__ void kernel(float const* a, float* out, int rows, int columns) {
  using Layout_ = decltype(composition(Swizzle<5, 0, 6>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
  __shared__ float storage[64 * 64];
  Tensor tile = make_tensor(make_smem_ptr(storage), Layout_{});
  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(rows, columns), make_stride(columns, _1{}));
  Tensor mT = make_tensor(make_gmem_ptr(out), make_shape(rows, columns), make_stride(_1{}, rows));
  auto coord = make_coord(blockIdx.y, blockIdx.x);
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, coord);
  Tensor gT = local_tile(mT, Shape<_64, _64>{}, coord);
  auto along_rows = Layout<Shape<_2, _64>, Stride<_64, _1>>{};
  auto along_columns = Layout<Shape<_64, _2>>{};
  copy(local_partition(gA, along_rows, threadIdx.x), local_partition(tile, along_rows, threadIdx.x));
  __syncthreads();
  copy(local_partition(tile, along_columns, threadIdx.x), local_partition(gT, along_columns, threadIdx.x));
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  kernel<<<dim3(columns / 64, rows / 64), 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), rows, columns);
  return cudaGetLastError();
}
}  // namespace transpose_swizzled

namespace fma_gemm {  // C = A B^T by tiles of 32 x 32 x 16, 2 x 2 elements a thread
template <class CopyA, class Mma>
__global__ void kernel(float const* A, float const* B, float* C, int M, int N, int K, CopyA copy_a, Mma mma) {
  auto coord = make_coord(blockIdx.y, blockIdx.x, _);
  using Tile = Shape<_32, _32, _16>;
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), make_shape(M, K), LayoutRight{}), Tile{}, coord, Step<_1, X, _1>{});
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(N, K), LayoutRight{}), Tile{}, coord, Step<X, _1, _1>{});
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), make_shape(M, N), LayoutRight{}), Tile{}, coord, Step<_1, _1, X>{});
  using LayoutS = decltype(composition(Swizzle<2, 2, 3>{}, Layout<Shape<_32, _16>, Stride<_16, _1>>{}));
  __shared__ cute::array_aligned<float, cosize_v<LayoutS>> storage_a, storage_b;
  Tensor sA = make_tensor(make_smem_ptr(storage_a.data()), LayoutS{});
  Tensor sB = make_tensor(make_smem_ptr(storage_b.data()), LayoutS{});
  auto copier = copy_a.get_slice(threadIdx.x);
  Tensor tAgA = copier.partition_S(gA);
  Tensor tAsA = copier.partition_D(sA);
  Tensor tBgB = copier.partition_S(gB);
  Tensor tBsB = copier.partition_D(sB);
  auto thread = mma.get_slice(threadIdx.x);
  Tensor tCsA = thread.partition_A(sA);
  Tensor tCsB = thread.partition_B(sB);
  Tensor tCgC = thread.partition_C(gC);
  Tensor tCrC = thread.make_fragment_C(tCgC);
  clear(tCrC);
  for (int k = 0; k < size<2>(gA); ++k) {
    if (threadIdx.x < size(copy_a)) {
      copy(copy_a, tAgA(_, _, _, k), tAsA);
      copy(copy_a, tBgB(_, _, _, k), tBsB);
    }
    __syncthreads();
    gemm(mma, tCsA, tCsB, tCrC);
    __syncthreads();
  }
  copy(tCrC, tCgC);
}
cudaError_t launch(CutegenArgs const* a) {
  int const m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[0];
  auto copy_a = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _4>>{});
  auto mma = make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{});
  kernel<<<dim3(n / 32, m / 32), 256, 0, a->stream>>>(a->in_a<float>(), a->in_b<float>(), a->to<float>(), m, n, k, copy_a, mma);
  return cudaGetLastError();
}
}  // namespace fma_gemm

namespace half_relayout {  // eight halves a thread from row-major to blocks of 8 x 8
__global__ void kernel(half_t const* a, half_t* out, int rows, int columns) {
  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(rows, columns), LayoutRight{});
  auto blocked = make_layout(make_shape(make_shape(_8{}, rows / 8), make_shape(_8{}, columns / 8)),
                             make_stride(make_stride(_8{}, 64 * (columns / 8)), make_stride(_1{}, _64{})));
  Tensor mOut = make_tensor(make_gmem_ptr(out), blocked);
  int const chunks = rows * columns / 8;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < chunks; i += gridDim.x * blockDim.x) {
    int const r = i / (columns / 8), c = i % (columns / 8);
    Tensor from = local_tile(mA(r, _), Shape<_8>{}, make_coord(c));
    Tensor to = make_tensor(&mOut(r, c * 8), Layout<_8>{});
    copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, from, to);
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<3, 64, 0, a->stream>>>(a->in_a<half_t>(), a->to<half_t>(), a->a_shape[0], a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace half_relayout

namespace cute_row_sums {  // register tensors, partial sums across a warp
__global__ void kernel(int8_t const* a, int* out, int columns) {
  Tensor row = make_tensor(make_gmem_ptr(a + blockIdx.x * columns), make_layout(columns));
  Tensor mine = local_partition(row, Layout<_32>{}, threadIdx.x);
  Tensor cRow = local_partition(make_identity_tensor(make_shape(columns)), Layout<_32>{}, threadIdx.x);
  int sum = 0;
  for (int i = 0; i < size(mine); ++i)
    if (get<0>(cRow(i)) < columns) sum += mine(i);
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 32, 0, a->stream>>>(a->in_a<int8_t>(), a->to<int>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace cute_row_sums
