// Barriers, bulk copies and clusters of sm_90, each as small as it can be. Also runs on a GPU.
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/cluster_launch.hpp>

using namespace cute;
using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;
using cutlass::arch::NamedBarrier;

constexpr int kTile = 32;

// One warp fills two buffers in turn, the other empties them.
__global__ void handed_over(float const* a, float* out, int n) {
  __shared__ float buffer[2][32];
  __shared__ uint64_t full[2], empty[2];
  int const lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      ClusterBarrier::init(&full[i], 32);
      ClusterBarrier::init(&empty[i], 32);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  for (int i = 0; i < n / 32; ++i) {
    int const stage = i % 2, phase = i / 2 % 2;
    if (threadIdx.x < 32) {
      ClusterBarrier::wait(&empty[stage], phase ^ 1);
      buffer[stage][lane] = 2 * a[32 * i + lane];
      ClusterBarrier::arrive(&full[stage]);
    } else {
      while (!ClusterBarrier::try_wait(&full[stage], phase)) {
      }
      out[32 * i + lane] = buffer[stage][lane ^ 1];
      ClusterBarrier::arrive(&empty[stage]);
    }
  }
}

template <class Layout>
struct Buffer {
  alignas(1024) float data[cosize_v<Layout>];
  alignas(8) uint64_t barrier;
};

// Each block writes what it got in shared memory, also from outside of the matrix.
template <class Tma, class SmemLayout>
__global__ void load_tile(CUTE_GRID_CONSTANT Tma const tma, SmemLayout layout, int m, int n,
                          float* out, bool wait) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& tile = *reinterpret_cast<Buffer<SmemLayout>*>(memory);
  if (threadIdx.x == 0) initialize_barrier(tile.barrier, 1);
  __syncthreads();
  Tensor whole = tma.get_tma_tensor(make_shape(m, n));
  Tensor global = local_tile(whole, make_shape(Int<kTile>{}, Int<kTile>{}),
                             make_coord(blockIdx.y, blockIdx.x));
  Tensor shared = make_tensor(make_smem_ptr(tile.data), layout);
  auto slice = tma.get_slice(0);
  if (threadIdx.x == 0) {
    set_barrier_transaction_bytes(tile.barrier, kTile * kTile * sizeof(float));
    copy(tma.with(tile.barrier), slice.partition_S(global), slice.partition_D(shared));  // LOADS
  }
  if (wait) wait_barrier(tile.barrier, 0);
  int const width = gridDim.x * kTile;
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
    int const row = i / kTile, column = i % kTile;
    out[(blockIdx.y * kTile + row) * width + blockIdx.x * kTile + column] = shared(row, column);  // READS
  }
  if (!wait) wait_barrier(tile.barrier, 0);
}

template <class Tma, class SmemLayout>
__global__ void store_tile(CUTE_GRID_CONSTANT Tma const tma, SmemLayout layout, int m, int n,
                           bool wait) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& tile = *reinterpret_cast<Buffer<SmemLayout>*>(memory);
  Tensor shared = make_tensor(make_smem_ptr(tile.data), layout);
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
    int const row = i / kTile, column = i % kTile;
    shared(row, column) = float((blockIdx.y * kTile + row) * 1000 + blockIdx.x * kTile + column);
  }
  tma_store_fence();
  __syncthreads();
  Tensor whole = tma.get_tma_tensor(make_shape(m, n));
  Tensor global = local_tile(whole, make_shape(Int<kTile>{}, Int<kTile>{}),
                             make_coord(blockIdx.y, blockIdx.x));
  auto slice = tma.get_slice(0);
  if (threadIdx.x == 0) {
    copy(tma, slice.partition_S(shared), slice.partition_D(global));
    tma_store_arrive();
    if (wait) tma_store_wait<0>();
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) tile.data[i] = -1;  // OVERWRITES
  if (threadIdx.x == 0) tma_store_wait<0>();  // FORGETS
}

// Two blocks of a cluster load half a tile each, for both.
template <class Tma, class SmemLayout>
__global__ void load_for_both(CUTE_GRID_CONSTANT Tma const tma, SmemLayout layout, int m, int n,
                              float* out) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& tile = *reinterpret_cast<Buffer<SmemLayout>*>(memory);
  if (threadIdx.x == 0) {
    initialize_barrier(tile.barrier, 1);
    cutlass::arch::fence_barrier_init();
  }
  cluster_sync();
  Tensor whole = tma.get_tma_tensor(make_shape(m, n));
  Tensor global = local_tile(whole, make_shape(Int<kTile>{}, Int<kTile>{}), make_coord(0, 0));
  Tensor shared = make_tensor(make_smem_ptr(tile.data), layout);
  uint32_t const rank = block_rank_in_cluster();
  auto [from, to] = tma_partition(tma, rank, make_layout(Int<2>{}), group_modes<0, 2>(shared),
                                  group_modes<0, 2>(global));
  if (threadIdx.x == 0) {
    set_barrier_transaction_bytes(tile.barrier, kTile * kTile * sizeof(float));
    copy(tma.with(tile.barrier, uint16_t(3)), from, to);
  }
  wait_barrier(tile.barrier, 0);
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
    out[rank * kTile * kTile + i] = shared(i / kTile, i % kTile);
  }
  cluster_sync();
}

// Each block adds up its own, and the first one of the cluster what the others bring.
__global__ void __cluster_dims__(4, 1, 1) cluster_sum(float const* a, float* out, int n) {
  __shared__ float own, sums[4];
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&own, a[i]);
  }
  __syncthreads();
  uint32_t const rank = block_rank_in_cluster();
  if (threadIdx.x == 0) {
    static_cast<float*>(__cluster_map_shared_rank(sums, 0))[rank] = own;
  }
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) {
    out[blockIdx.x / 4] = sums[0] + sums[1] + sums[2] + sums[3];
  }
}

// The blocks pass words round by st.async, with barriers of their own.
__global__ void __cluster_dims__(2, 1, 1) pass_on(float* out) {
  __shared__ uint32_t word;
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    ClusterTransactionBarrier::init(&barrier, 1);
    ClusterTransactionBarrier::arrive_and_expect_tx(&barrier, 4);
    cutlass::arch::fence_barrier_init();
  }
  cluster_sync();
  uint32_t const rank = block_rank_in_cluster();
  if (threadIdx.x == 0) {
    store_shared_remote(100 + rank, cast_smem_ptr_to_uint(&word), cast_smem_ptr_to_uint(&barrier),
                        rank ^ 1);
  }
  ClusterTransactionBarrier::wait(&barrier, 0);
  if (threadIdx.x == 0) out[rank] = float(word);
  cluster_sync();
}

__global__ void bulk(float const* a, float* out, int n) {
  __shared__ alignas(128) float buffer[1024];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    initialize_barrier(barrier, 1);
    set_barrier_transaction_bytes(barrier, n * 4);
    SM90_BULK_COPY_G2S::copy(a, &barrier, buffer, n * 4);
  }
  __syncthreads();
  wait_barrier(barrier, 0);
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] += 1;
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    SM90_BULK_COPY_S2G::copy(buffer, out, n * 4);
    tma_store_arrive();
    tma_store_wait<0>();
  }
}

// Warps 0 and 1 meet, and warp 2 tells warp 3.
__global__ void meetings(float* out) {
  __shared__ float values[128];
  int const t = threadIdx.x;
  if (t < 64) {
    values[t] = t;
    NamedBarrier::sync(64, 0);
    out[t] = values[63 - t];
  } else if (t < 96) {
    values[t] = t;
    NamedBarrier::arrive(64, 1);
    out[t] = elect_one_sync();
  } else {
    NamedBarrier(64, 1).sync();
    out[t] = values[t - 32];
  }
}

__global__ void nobody_arrives() {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) ClusterBarrier::init(&barrier, 33);
  __syncthreads();
  ClusterBarrier::arrive(&barrier);
  ClusterBarrier::wait(&barrier, 0);  // WAITS
}

__global__ void too_few_meet() {
  if (threadIdx.x < 32) NamedBarrier::sync(64, 2);  // MEETS
}

__global__ void not_initialised() {
  __shared__ uint64_t barrier;
  ClusterBarrier::arrive(&barrier);  // ARRIVES
}

__global__ void misaligned(float const* a) {
  __shared__ alignas(128) float buffer[64];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    initialize_barrier(barrier, 1);
    SM90_BULK_COPY_G2S::copy(a, &barrier, buffer + 1, 16);  // ORDERS
  }
}

template <class Atom>
auto tile_of(Atom atom) {
  return tile_to_shape(atom, make_shape(Int<kTile>{}, Int<kTile>{}));
}

template <class Layout>
cudaError_t load(CutegenArgs const* a, Layout layout, bool wait) {
  Tensor matrix = make_tensor(make_gmem_ptr(a->a), make_layout(make_shape(a->m, a->n),
                                                               make_stride(a->n, Int<1>{})));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, matrix, layout);
  dim3 const grid((a->n + kTile - 1) / kTile, (a->m + kTile - 1) / kTile);
  load_tile<<<grid, a->block, sizeof(Buffer<Layout>), a->stream>>>(tma, layout, a->m, a->n, a->out,
                                                                 wait);
  return cudaGetLastError();
}

template <class Op>
cudaError_t store(CutegenArgs const* a, Op op, bool wait) {
  auto layout = tile_of(GMMA::Layout_K_SW128_Atom<float>{});
  Tensor matrix = make_tensor(make_gmem_ptr(a->out), make_layout(make_shape(a->m, a->n),
                                                                 make_stride(a->n, Int<1>{})));
  auto tma = make_tma_copy(op, matrix, layout);
  dim3 const grid((a->n + kTile - 1) / kTile, (a->m + kTile - 1) / kTile);
  store_tile<<<grid, a->block, sizeof(Buffer<decltype(layout)>), a->stream>>>(tma, layout, a->m,
                                                                            a->n, wait);
  return cudaGetLastError();
}

cudaError_t multicast(CutegenArgs const* a) {
  auto layout = tile_of(GMMA::Layout_K_SW64_Atom<float>{});
  Tensor matrix = make_tensor(make_gmem_ptr(a->a), make_layout(make_shape(a->m, a->n),
                                                               make_stride(a->n, Int<1>{})));
  auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, matrix, layout,
                           make_shape(Int<kTile>{}, Int<kTile>{}), Int<2>{});
  auto* kernel = &load_for_both<decltype(tma), decltype(layout)>;
  cutlass::ClusterLaunchParams params{dim3(2), dim3(a->block), dim3(2),
                                      int(sizeof(Buffer<decltype(layout)>)), a->stream};
  int m = a->m, n = a->n;
  float* out = a->out;
  auto const status = cutlass::launch_kernel_on_cluster(
      params, reinterpret_cast<void const*>(kernel), tma, layout, m, n, out);
  return status == cutlass::Status::kSuccess ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t sum_with_attributes(CutegenArgs const* a) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(a->grid);
  config.blockDim = dim3(a->block);
  config.stream = a->stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, cluster_sum, a->a, a->out, a->n);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  if (a->calls("handed_over")) handed_over<<<1, 64, 0, a->stream>>>(a->a, a->out, a->n);
  if (a->calls("load_plain")) return load(a, tile_of(GMMA::Layout_K_INTER_Atom<float>{}), true);
  if (a->calls("load_32")) return load(a, tile_of(GMMA::Layout_K_SW32_Atom<float>{}), true);
  if (a->calls("load_64")) return load(a, tile_of(GMMA::Layout_K_SW64_Atom<float>{}), true);
  if (a->calls("load_128")) return load(a, tile_of(GMMA::Layout_K_SW128_Atom<float>{}), true);
  if (a->calls("load_unwaited")) {
    return load(a, tile_of(GMMA::Layout_K_SW128_Atom<float>{}), false);
  }
  if (a->calls("store")) return store(a, SM90_TMA_STORE{}, true);
  if (a->calls("store_unwaited")) return store(a, SM90_TMA_STORE{}, false);
  if (a->calls("add")) return store(a, SM90_TMA_REDUCE_ADD{}, true);
  if (a->calls("multicast")) return multicast(a);
  if (a->calls("cluster_sum")) {
    cluster_sum<<<a->grid, a->block, 0, a->stream>>>(a->a, a->out, a->n);
  }
  if (a->calls("sum_with_attributes")) return sum_with_attributes(a);
  if (a->calls("pass_on")) pass_on<<<2, 32, 0, a->stream>>>(a->out);
  if (a->calls("bulk")) bulk<<<1, a->block, 0, a->stream>>>(a->a, a->out, a->n);
  if (a->calls("meetings")) meetings<<<1, 128, 0, a->stream>>>(a->out);
  if (a->calls("nobody_arrives")) nobody_arrives<<<1, 32, 0, a->stream>>>();
  if (a->calls("too_few_meet")) too_few_meet<<<1, 64, 0, a->stream>>>();
  if (a->calls("not_initialised")) not_initialised<<<1, 32, 0, a->stream>>>();
  if (a->calls("misaligned")) misaligned<<<1, 32, 0, a->stream>>>(a->a);
  return cudaGetLastError();
}
