// A warp-specialised GEMM: one warp loads tiles with TMA, two warpgroups multiply, and the result
// goes out by TMA. out = a b^T of m x n, in half precision with float sums. Runs on a GPU as well.
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cluster_launch.hpp>
#include <cutlass/pipeline/pipeline.hpp>

using namespace cute;

constexpr int kStages = 3;
using TileM = Int<128>;
using TileN = Int<64>;
using TileK = Int<64>;
using Pipeline = cutlass::PipelineTmaAsync<kStages>;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{},
                                     Shape<TileM, TileK, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{},
                                     Shape<TileN, TileK, Int<kStages>>{}));
using SmemC = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<float>{}, Shape<TileM, TileN>{}));

struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(1024) float c[cosize_v<SmemC>];
  alignas(16) Pipeline::SharedStorage pipeline;
};

// What goes wrong on purpose, if anything.
enum Fault { kNone, kNoRelease, kNoConsumerWait, kEarlyRelease, kTooFewBytes };

template <class Mma, class TmaA, class TmaB, class TmaC, class Cluster>
__global__ void __launch_bounds__(384)
    gemm_kernel(Mma mma, CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
                CUTE_GRID_CONSTANT TmaC const tma_c, Cluster cluster, int m, int n, int k,
                int fault) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage& storage = *reinterpret_cast<Storage*>(memory);
  int const warpgroup = cutlass::canonical_warp_group_idx();
  int const warp = cutlass::canonical_warp_idx_sync();
  bool const leads = elect_one_sync();

  Tensor all_a = tma_a.get_tma_tensor(make_shape(m, k));
  Tensor all_b = tma_b.get_tma_tensor(make_shape(n, k));
  Tensor all_c = tma_c.get_tma_tensor(make_shape(m, n));
  Tensor global_a = local_tile(all_a, make_tile(TileM{}, TileK{}), make_coord(blockIdx.x, _));
  Tensor global_b = local_tile(all_b, make_tile(TileN{}, TileK{}), make_coord(blockIdx.y, _));
  Tensor global_c = local_tile(all_c, make_tile(TileM{}, TileN{}),
                               make_coord(blockIdx.x, blockIdx.y));
  Tensor shared_a = make_tensor(make_smem_ptr(storage.a), SmemA{});
  Tensor shared_b = make_tensor(make_smem_ptr(storage.b), SmemB{});
  Tensor shared_c = make_tensor(make_smem_ptr(storage.c), SmemC{});

  // Blocks of a cluster share the columns: each loads a part of B's tile for both.
  uint32_t const rank = block_rank_in_cluster();
  auto [from_a, to_a] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(shared_a),
                                      group_modes<0, 2>(global_a));
  auto [from_b, to_b] = tma_partition(tma_b, rank, make_layout(size(cluster)),
                                      group_modes<0, 2>(shared_b), group_modes<0, 2>(global_b));

  Pipeline::Params params;
  params.transaction_bytes = sizeof(half_t) * (TileM{} + TileN{}) * TileK{};
  if (fault == kTooFewBytes) params.transaction_bytes += 16;
  params.role = warpgroup == 0 ? Pipeline::ThreadCategory::Producer
                               : Pipeline::ThreadCategory::Consumer;
  params.is_leader = warpgroup == 0 && warp == 0 && leads;
  params.num_consumers = 256;
  Pipeline pipeline(storage.pipeline, params, cluster);
  cluster_sync();

  int const steps = size<2>(global_a);
  if (warpgroup == 0) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (warp == 0 && leads) {
      auto state = cutlass::make_producer_start_state<Pipeline>();
      uint16_t const all = uint16_t((1 << size(cluster)) - 1);
      for (int step = 0; step < steps; ++step, ++state) {
        pipeline.producer_acquire(state);  // ACQUIRES
        auto* barrier = pipeline.producer_get_barrier(state);
        copy(tma_a.with(*barrier, 0), from_a(_, step), to_a(_, state.index()));  // FILLS
        copy(tma_b.with(*barrier, all), from_b(_, step), to_b(_, state.index()));  // FILLS
      }
      pipeline.producer_tail(state);
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<232>();
    auto thread = mma.get_thread_slice(threadIdx.x - 128);
    Tensor part_a = thread.make_fragment_A(thread.partition_A(shared_a));
    Tensor part_b = thread.make_fragment_B(thread.partition_B(shared_b));
    Tensor part_c = thread.partition_C(shared_c);
    Tensor sums = thread.make_fragment_C(part_c);
    clear(sums);
    cutlass::PipelineState<kStages> state, release;
    for (int step = 0; step < steps; ++step, ++state) {
      if (fault != kNoConsumerWait) pipeline.consumer_wait(state);  // WAITS
      warpgroup_arrive();
      gemm(mma, part_a(_, _, _, state.index()), part_b(_, _, _, state.index()), sums);  // MULTIPLIES
      warpgroup_commit_batch();
      if (fault == kEarlyRelease) {
        pipeline.consumer_release(state);
      } else if (step > 0) {
        warpgroup_wait<1>();
        if (fault != kNoRelease) pipeline.consumer_release(release);
        ++release;
      }
    }
    warpgroup_wait<0>();
    if (fault != kEarlyRelease && fault != kNoRelease) pipeline.consumer_release(release);
    copy(sums, part_c);
    tma_store_fence();
    cutlass::arch::NamedBarrier::sync(256, 0);
    if (threadIdx.x == 128) {
      auto slice = tma_c.get_slice(0);
      copy(tma_c, slice.partition_S(shared_c), slice.partition_D(global_c));
      tma_store_arrive();
      tma_store_wait<0>();
    }
  }
  cluster_sync();
}

template <class ClusterM>
cudaError_t go(CutegenArgs const* args, ClusterM, Fault fault) {
  auto row_major = [](auto* data, int rows, int columns) {
    return make_tensor(make_gmem_ptr(data), make_shape(rows, columns),
                       make_stride(columns, Int<1>{}));
  };
  int const m = args->m, n = args->n, k = args->k;
  auto* a = reinterpret_cast<half_t const*>(args->a);
  auto* b = reinterpret_cast<half_t const*>(args->b);
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, row_major(a, m, k), SmemA{}(_, _, 0));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, row_major(b, n, k), SmemB{}(_, _, 0),
                             make_shape(TileN{}, TileK{}), ClusterM{});
  auto tma_c = make_tma_copy(SM90_TMA_STORE{}, row_major(args->out, m, n), SmemC{});
  auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                            Layout<Shape<_2, _1, _1>>{});
  auto cluster = make_shape(ClusterM{}, Int<1>{}, Int<1>{});
  auto* kernel = &gemm_kernel<decltype(mma), decltype(tma_a), decltype(tma_b), decltype(tma_c),
                              decltype(cluster)>;
  int const smem = sizeof(Storage);
  cudaError_t const allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  if (allowed != cudaSuccess) return allowed;
  cutlass::ClusterLaunchParams launch;
  launch.grid_dims = dim3((m + TileM{} - 1) / TileM{}, (n + TileN{} - 1) / TileN{});
  launch.block_dims = dim3(384);
  launch.cluster_dims = dim3(ClusterM{});
  launch.smem_size_in_bytes = smem;
  launch.cuda_stream = args->stream;
  auto const status = cutlass::launch_kernel_on_cluster(
      launch, reinterpret_cast<void const*>(kernel), mma, tma_a, tma_b, tma_c, cluster, m, n, k,
      int(fault));
  return status == cutlass::Status::kSuccess ? cudaGetLastError() : cudaErrorLaunchFailure;
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  if (args->calls("pair")) return go(args, Int<2>{}, kNone);
  if (args->calls("no_release")) return go(args, Int<2>{}, kNoRelease);
  if (args->calls("no_wait")) return go(args, Int<2>{}, kNoConsumerWait);
  if (args->calls("early_release")) return go(args, Int<2>{}, kEarlyRelease);
  if (args->calls("too_few_bytes")) return go(args, Int<2>{}, kTooFewBytes);
  return cudaErrorInvalidValue;
}
