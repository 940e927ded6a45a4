// Tensor copies by TMA: swizzled loads, tails, stores, reductions, multicast, three dimensions.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/cluster_launch.hpp>

#include "cutegen_args.h"

using namespace cute;

template <class T, int N>
struct Memory {
  alignas(1024) T tile[N];
  alignas(8) uint64_t barrier;
};

// A matrix with rows of `columns` elements.
template <class T>
CUTE_HOST_DEVICE auto rows_of(T* data, int rows, int columns) {
  return make_tensor(make_gmem_ptr(data), make_shape(rows, columns), make_stride(columns, _1{}));
}

namespace tma_load_swizzled {  // what lies where in shared memory, byte for byte, for one swizzle
template <class Tma, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Tma const tma, Layout_ layout, half_t* out, int rows, int columns) {
  __shared__ Memory<half_t, cosize_v<Layout_>> memory;
  Tensor sA = make_tensor(make_smem_ptr(memory.tile), layout);
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(rows, columns)), product_each(shape(layout)), make_coord(blockIdx.y, blockIdx.x));
  if (threadIdx.x == 0) {
    initialize_barrier(memory.barrier, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(memory.barrier, sizeof(memory.tile));
    auto slice = tma.get_slice(0);
    copy(tma.with(memory.barrier), slice.partition_S(gA), slice.partition_D(sA));
  }
  __syncthreads();
  wait_barrier(memory.barrier, 0);
  int const block = blockIdx.y * gridDim.x + blockIdx.x;
  for (int i = threadIdx.x; i < size(layout); i += blockDim.x) out[block * size(layout) + i] = memory.tile[i];
}
template <class Atom>
cudaError_t load(CutegenArgs const* a, int part) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  auto layout = tile_to_shape(Atom{}, Shape<_16, _64>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, rows_of(a->in_a<half_t>(), rows, columns), layout);
  kernel<<<dim3(columns / 64, rows / 16), 64, 0, a->stream>>>(tma, layout, a->to<half_t>() + part * rows * columns, rows, columns);
  return cudaGetLastError();
}
cudaError_t launch(CutegenArgs const* a) {
  if (auto error = load<GMMA::Layout_K_INTER_Atom<half_t>>(a, 0)) return error;
  if (auto error = load<GMMA::Layout_K_SW32_Atom<half_t>>(a, 1)) return error;
  if (auto error = load<GMMA::Layout_K_SW64_Atom<half_t>>(a, 2)) return error;
  return load<GMMA::Layout_K_SW128_Atom<half_t>>(a, 3);
}
}  // namespace tma_load_swizzled

namespace tma_tail {  // tiles that reach past the edges are filled with zeros on load, cut on store
template <class Load, class Store, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Load const load, CUTE_GRID_CONSTANT Store const store, Layout_ layout, int rows, int columns) {
  __shared__ Memory<float, cosize_v<Layout_>> memory;
  Tensor tile = make_tensor(make_smem_ptr(memory.tile), layout);
  auto coord = make_coord(blockIdx.y, blockIdx.x);
  Tensor gA = local_tile(load.get_tma_tensor(make_shape(rows, columns)), product_each(shape(layout)), coord);
  Tensor gOut = local_tile(store.get_tma_tensor(make_shape(rows, columns)), product_each(shape(layout)), coord);
  if (threadIdx.x == 0) {
    initialize_barrier(memory.barrier, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(memory.barrier, sizeof(memory.tile));
    copy(load.with(memory.barrier), load.get_slice(0).partition_S(gA), load.get_slice(0).partition_D(tile));
  }
  __syncthreads();
  wait_barrier(memory.barrier, 0);
  float sum = 0;  // of the tile's row, with the zeros
  for (int c = 0; c < size<1>(layout); ++c) sum += tile(threadIdx.x, c);
  __syncthreads();
  for (int c = 0; c < size<1>(layout); ++c) tile(threadIdx.x, c) = sum;
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy(store, store.get_slice(0).partition_S(tile), store.get_slice(0).partition_D(gOut));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  auto layout = tile_to_shape(GMMA::Layout_K_SW128_Atom<float>{}, Shape<_32, _32>{});
  auto load = make_tma_copy(SM90_TMA_LOAD{}, rows_of(a->in_a<float>(), rows, columns), layout);
  auto store = make_tma_copy(SM90_TMA_STORE{}, rows_of(a->to<float>(), rows, columns), layout);
  kernel<<<dim3(ceil_div(columns, 32), ceil_div(rows, 32)), 32, 0, a->stream>>>(load, store, layout, rows, columns);
  return cudaGetLastError();
}
}  // namespace tma_tail

namespace tma_reduce {  // tiles of all blocks are added in global memory
__global__ void clear(int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0;
}
template <class Tma, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Tma const tma, Layout_ layout, int const* a) {
  __shared__ Memory<int, cosize_v<Layout_>> memory;
  Tensor tile = make_tensor(make_smem_ptr(memory.tile), layout);
  for (int i = threadIdx.x; i < size(layout); i += blockDim.x) tile(i / 32, i % 32) = a[blockIdx.x * size(layout) + i];
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    Tensor gOut = tma.get_tma_tensor(product_each(shape(layout)));
    copy(tma, tma.get_slice(0).partition_S(tile), tma.get_slice(0).partition_D(gOut));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
cudaError_t launch(CutegenArgs const* a) {
  auto layout = tile_to_shape(GMMA::Layout_K_SW32_Atom<int>{}, Shape<_16, _32>{});
  auto tma = make_tma_copy(SM90_TMA_REDUCE_ADD{}, rows_of(a->to<int>(), 16, 32), layout);
  clear<<<1, 128, 0, a->stream>>>(a->to<int>(), 512);
  kernel<<<a->a_shape[0], 64, 0, a->stream>>>(tma, layout, a->in_a<int>());
  return cudaGetLastError();
}
}  // namespace tma_reduce

namespace tma_multicast {  // each of two blocks loads half of a tile for both
template <class Tma, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Tma const tma, Layout_ layout, float* out, int rows, int columns) {
  __shared__ Memory<float, cosize_v<Layout_>> memory;
  Tensor tile = make_tensor(make_smem_ptr(memory.tile), layout);
  uint32_t const rank = block_rank_in_cluster();
  if (threadIdx.x == 0) {
    initialize_barrier(memory.barrier, 1);
    cutlass::arch::fence_barrier_init();
  }
  cluster_sync();
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(rows, columns)), product_each(shape(layout)), make_coord(blockIdx.x / 2, 0));
  auto [from, to] = tma_partition(tma, rank, Layout<_2>{}, group_modes<0, 2>(tile), group_modes<0, 2>(gA));
  if (threadIdx.x == 0) {
    set_barrier_transaction_bytes(memory.barrier, sizeof(memory.tile));
    copy(tma.with(memory.barrier, uint16_t(3)), from, to);
  }
  wait_barrier(memory.barrier, 0);
  for (int i = threadIdx.x; i < size(layout); i += blockDim.x)
    out[blockIdx.x * size(layout) + i] = tile(i / size<1>(layout), i % size<1>(layout)) + rank;
  cluster_sync();
}
cudaError_t launch(CutegenArgs const* a) {
  int rows = a->a_shape[0], columns = a->a_shape[1];
  auto layout = tile_to_shape(GMMA::Layout_K_SW64_Atom<float>{}, Shape<_32, _32>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, rows_of(a->in_a<float>(), rows, columns), layout, Shape<_32, _32>{}, _2{});
  auto* entry = &kernel<decltype(tma), decltype(layout)>;
  cutlass::ClusterLaunchParams params{dim3(2 * rows / 32), dim3(64), dim3(2), 0, a->stream};
  float* out = a->to<float>();
  auto const status = cutlass::launch_kernel_on_cluster(params, reinterpret_cast<void const*>(entry), tma, layout, out, rows, columns);
  return status == cutlass::Status::kSuccess ? cudaSuccess : cudaErrorLaunchFailure;
}
}  // namespace tma_multicast

namespace tma_batched {  // three dimensions, the contiguous one first; a tile of each batch
template <class Tma, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Tma const tma, Layout_ layout, half_t* out, int m, int n, int batches) {
  __shared__ Memory<half_t, cosize_v<Layout_>> memory;
  Tensor tile = make_tensor(make_smem_ptr(memory.tile), layout);
  Tensor whole = tma.get_tma_tensor(make_shape(m, n, batches));
  Tensor gA = local_tile(whole(_, _, blockIdx.z), product_each(shape(layout)), make_coord(blockIdx.x, blockIdx.y));
  if (threadIdx.x == 0) {
    initialize_barrier(memory.barrier, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(memory.barrier, sizeof(memory.tile));
    copy(tma.with(memory.barrier), tma.get_slice(0).partition_S(gA), tma.get_slice(0).partition_D(tile));
  }
  __syncthreads();
  wait_barrier(memory.barrier, 0);
  for (int i = threadIdx.x; i < size(layout); i += blockDim.x) {
    int const x = i % 64, y = i / 64;
    out[((blockIdx.z * n) + blockIdx.y * 16 + y) * m + blockIdx.x * 64 + x] = tile(63 - x, y);
  }
}
cudaError_t launch(CutegenArgs const* a) {
  int const m = a->a_shape[1], n = a->b_shape[0], batches = a->a_shape[0] / n;
  auto layout = tile_to_shape(GMMA::Layout_MN_SW128_Atom<half_t>{}, Shape<_64, _16>{});
  Tensor whole = make_tensor(make_gmem_ptr(a->in_a<half_t>()), make_shape(m, n, batches), make_stride(_1{}, m, m * n));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, whole, layout);
  kernel<<<dim3(m / 64, n / 16, batches), 64, 0, a->stream>>>(tma, layout, a->to<half_t>(), m, n, batches);
  return cudaGetLastError();
}
}  // namespace tma_batched

namespace tma_tfloat32 {  // what a map of type TFLOAT32 makes of floats, bit for bit
template <class Tma, class Layout_>
__global__ void kernel(CUTE_GRID_CONSTANT Tma const tma, Layout_ layout, uint32_t* out, int rows, int columns) {
  __shared__ Memory<tfloat32_t, cosize_v<Layout_>> memory;
  Tensor tile = make_tensor(make_smem_ptr(memory.tile), layout);
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(rows, columns)), product_each(shape(layout)), make_coord(blockIdx.x, 0));
  if (threadIdx.x == 0) {
    initialize_barrier(memory.barrier, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(memory.barrier, sizeof(memory.tile));
    copy(tma.with(memory.barrier), tma.get_slice(0).partition_S(gA), tma.get_slice(0).partition_D(tile));
  }
  __syncthreads();
  wait_barrier(memory.barrier, 0);
  Tensor bits = recast<uint32_t>(tile);
  for (int i = threadIdx.x; i < size(layout); i += blockDim.x) out[blockIdx.x * size(layout) + i] = bits(i / columns, i % columns);
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  auto layout = make_layout(Shape<_16, _128>{}, LayoutRight{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, rows_of(a->in_a<tfloat32_t>(), rows, columns), layout);
  kernel<<<rows / 16, 128, 0, a->stream>>>(tma, layout, a->to<uint32_t>(), rows, columns);
  return cudaGetLastError();
}
}  // namespace tma_tfloat32
