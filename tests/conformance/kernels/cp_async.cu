// Asynchronous copies in stages, and warp-wide stores to shared memory.
#include <cute/tensor.hpp>

#include "cutegen_args.h"

using namespace cute;

namespace staged_scale {  // three stages of 1024 floats; every thread waits for its own copies
__global__ void kernel(float const* a, float* out, int tiles) {
  __shared__ alignas(16) float ring[3][1024];
  auto fetch = [&](int tile) {
    if (tile < tiles) {
      auto const* from = reinterpret_cast<uint128_t const*>(a + tile * 1024) + threadIdx.x;
      auto* to = reinterpret_cast<uint128_t*>(ring[tile % 3]) + threadIdx.x;
      copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, uint128_t>{},
           make_tensor(make_gmem_ptr(from), Layout<_1>{}), make_tensor(make_smem_ptr(to), Layout<_1>{}));
    }
    cp_async_fence();
  };
  fetch(0);
  fetch(1);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<1>();
    __syncthreads();
    fetch(tile + 2);
    for (int i = threadIdx.x; i < 1024; i += 256) out[tile * 1024 + i] = 3 * ring[tile % 3][1023 - i];
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 256, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), a->a_shape[0]);
  return cudaGetLastError();
}
}  // namespace staged_scale

namespace zero_fill {  // rows past the end arrive as zeros
__global__ void kernel(float const* a, float* out, int rows, int columns) {
  __shared__ alignas(16) float tile[32 * 32];
  Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<float>, float> atom;
  for (int i = threadIdx.x; i < 32 * 32; i += 128) {
    int const row = blockIdx.y * 32 + i / 32, column = blockIdx.x * 32 + i % 32;
    bool const inside = row < rows && column < columns;
    copy(atom.with(inside), make_tensor(make_gmem_ptr(inside ? a + row * columns + column : a), Layout<_1>{}),
         make_tensor(make_smem_ptr(tile + i), Layout<_1>{}));
  }
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  float* const mine = out + (blockIdx.y * gridDim.x + blockIdx.x) * 1024;
  for (int i = threadIdx.x; i < 1024; i += 128) mine[i] = tile[i % 32 * 32 + i / 32];
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  kernel<<<dim3(ceil_div(columns, 32), ceil_div(rows, 32)), 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), rows, columns);
  return cudaGetLastError();
}
}  // namespace zero_fill

namespace multistage_gemm {  // C = A B^T in half precision: 3 stages, swizzled rows, ldmatrix; tail in M
template <class CopyG, class Mma>
__global__ void kernel(half_t const* A, half_t const* B, float* C, int M, int N, int K, CopyG copy_g, Mma mma) {
  using Tile = Shape<_64, _32, _32>;
  auto coord = make_coord(blockIdx.y, blockIdx.x, _);
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{})), Tile{}, coord, Step<_1, X, _1>{});
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{})), Tile{}, coord, Step<X, _1, _1>{});
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{})), Tile{}, coord, Step<_1, _1, X>{});
  Tensor cA = local_tile(make_identity_tensor(make_shape(M, K)), Tile{}, coord, Step<_1, X, _1>{});
  Tensor cC = local_tile(make_identity_tensor(make_shape(M, N)), Tile{}, coord, Step<_1, _1, X>{});
  using Row = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
  using LayoutA = decltype(tile_to_shape(Row{}, Shape<_64, _32, _3>{}));
  using LayoutB = decltype(tile_to_shape(Row{}, Shape<_32, _32, _3>{}));
  extern __shared__ __align__(128) unsigned char storage[];
  half_t* const base = reinterpret_cast<half_t*>(storage);
  Tensor sA = make_tensor(make_smem_ptr(base), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(base + cosize_v<LayoutA>), LayoutB{});

  auto copier = copy_g.get_slice(threadIdx.x);
  Tensor tAgA = copier.partition_S(gA);
  Tensor tAsA = copier.partition_D(sA);
  Tensor tAcA = copier.partition_S(cA);
  Tensor tBgB = copier.partition_S(gB);
  Tensor tBsB = copier.partition_D(sB);
  Tensor inside = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)), Stride<_1, _0>{});
  for (int m = 0; m < size<0>(inside); ++m) inside(m, 0) = get<0>(tAcA(0, m, 0, 0)) < M;
  int const tiles = size<2>(gA);
  auto fetch = [&](int k) {
    if (k < tiles) {
      copy_if(copy_g, inside, tAgA(_, _, _, k), tAsA(_, _, _, k % 3));
      copy(copy_g, tBgB(_, _, _, k), tBsB(_, _, _, k % 3));
    }
    cp_async_fence();
  };
  clear(tAsA);  // rows that are never fetched
  __syncthreads();
  fetch(0);
  fetch(1);

  auto thread = mma.get_slice(threadIdx.x);
  Tensor tCgC = thread.partition_C(gC);
  Tensor tCcC = thread.partition_C(cC);
  Tensor tCrC = thread.make_fragment_C(tCgC);
  Tensor tCrA = thread.partition_fragment_A(sA(_, _, 0));
  Tensor tCrB = thread.partition_fragment_B(sB(_, _, 0));
  auto load_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto load_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor from_a = load_a.get_slice(threadIdx.x).partition_S(sA);
  Tensor from_b = load_b.get_slice(threadIdx.x).partition_S(sB);
  clear(tCrC);
  for (int k = 0; k < tiles; ++k) {
    cp_async_wait<1>();
    __syncthreads();
    fetch(k + 2);
    copy(load_a, from_a(_, _, _, k % 3), load_a.get_slice(threadIdx.x).retile_D(tCrA));
    copy(load_b, from_b(_, _, _, k % 3), load_b.get_slice(threadIdx.x).retile_D(tCrB));
    gemm(mma, tCrA, tCrB, tCrC);
  }
  for (int i = 0; i < size(tCrC); ++i)
    if (get<0>(tCcC(i)) < M) tCgC(i) = tCrC(i);
}
cudaError_t launch(CutegenArgs const* a) {
  int const m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[0];
  auto copy_g = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{});
  int const bytes = 3 * (64 + 32) * 32 * sizeof(half_t);
  kernel<<<dim3(n / 32, ceil_div(m, 64)), 128, bytes, a->stream>>>(a->in_a<half_t>(), a->in_b<half_t>(), a->to<float>(), m, n, k, copy_g, mma);
  return cudaGetLastError();
}
}  // namespace multistage_gemm

namespace stmatrix_rows {  // accumulator fragments to shared memory by stmatrix, then out in vectors
template <class Atom, class Layout_>
__device__ void store_tile(half_t const* a, half_t* out, half_t* storage) {
  Tensor tile = make_tensor(make_smem_ptr(storage), Layout_{});
  TiledMMA mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_1, _1, _1>>{}, Tile<_16, _32, _16>{});
  Tensor gA = make_tensor(make_gmem_ptr(a), Shape<_16, _32>{}, Stride<_32, _1>{});
  Tensor tCgA = mma.get_slice(threadIdx.x).partition_C(gA);
  Tensor fragment = make_fragment_like(tCgA);
  copy(tCgA, fragment);
  auto store = make_tiled_copy_C(Copy_Atom<Atom, half_t>{}, mma);
  auto thread = store.get_slice(threadIdx.x);
  copy(store, thread.retile_S(fragment), thread.partition_D(tile));
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * 32; i += 32) out[i] = tile(i / 32, i % 32);
}
__global__ void kernel(half_t const* a, half_t* out) {
  using RowsLayout = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_16, _32>, Stride<_32, _1>>{}));
  using ColumnsLayout = decltype(composition(Swizzle<1, 3, 3>{}, Layout<Shape<_16, _32>, Stride<_1, _16>>{}));
  __shared__ alignas(128) half_t storage[16 * 32];
  if (blockIdx.x == 0) store_tile<SM90_U32x4_STSM_N, RowsLayout>(a, out, storage);
  if (blockIdx.x == 1) store_tile<SM90_U32x2_STSM_N, RowsLayout>(a + 512, out + 512, storage);
  if (blockIdx.x == 2) store_tile<SM90_U16x8_STSM_T, ColumnsLayout>(a + 1024, out + 1024, storage);
  if (blockIdx.x == 3) store_tile<SM90_U16x4_STSM_T, ColumnsLayout>(a + 1536, out + 1536, storage);
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<4, 32, 0, a->stream>>>(a->in_a<half_t>(), a->to<half_t>());
  return cudaGetLastError();
}
}  // namespace stmatrix_rows
