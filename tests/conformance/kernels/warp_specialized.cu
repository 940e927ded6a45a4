// A product as CUTLASS's fastest kernels do it: a producer warp group moves tiles by TMA through
// PipelineTmaAsync, a consumer warp group multiplies them with wgmma.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cluster_launch.hpp>
#include <cutlass/pipeline/sm90_pipeline.hpp>

#include "cutegen_args.h"

using namespace cute;

namespace tma_wgmma_gemm {  // C = A B^T; a cluster of ClusterM blocks shares the tiles of B
constexpr int kStages = 3;
using Pipeline = cutlass::PipelineTmaAsync<kStages>;
using LayoutA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, Int<kStages>>{}));
using LayoutB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_32, _64, Int<kStages>>{}));
struct Shared {
  alignas(1024) half_t a[cosize_v<LayoutA>];
  alignas(1024) half_t b[cosize_v<LayoutB>];
  Pipeline::SharedStorage pipeline;
};
template <class TmaA, class TmaB, int ClusterM>
__global__ void __launch_bounds__(256) kernel(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b, float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(shared.b), LayoutB{});
  int const group = threadIdx.x / 128;
  int const rank = block_rank_in_cluster();
  using Cluster = Shape<Int<ClusterM>, _1, _1>;
  Pipeline::Params params;
  params.transaction_bytes = sizeof(half_t) * (64 + 32) * 64;
  params.role = group == 0 ? Pipeline::ThreadCategory::Producer : Pipeline::ThreadCategory::Consumer;
  params.is_leader = threadIdx.x == 0;
  params.num_consumers = 128;
  Pipeline pipeline(shared.pipeline, params, Cluster{});
  if constexpr (ClusterM > 1) cluster_sync();
  else __syncthreads();
  int const tiles = K / 64;
  if (group == 0) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (threadIdx.x == 0) {
      Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(M, K)), Shape<_64, _64>{}, make_coord(blockIdx.x, _));
      Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(N, K)), Shape<_32, _64>{}, make_coord(blockIdx.y, _));
      auto [tAgA, tAsA] = tma_partition(tma_a, _0{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
      auto [tBgB, tBsB] = tma_partition(tma_b, rank, Layout<Int<ClusterM>>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
      auto state = cutlass::make_producer_start_state<Pipeline>();
      for (int k = 0; k < tiles; ++k) {
        pipeline.producer_acquire(state);
        auto* barrier = pipeline.producer_get_barrier(state);
        copy(tma_a.with(*barrier), tAgA(_, k), tAsA(_, state.index()));
        copy(tma_b.with(*barrier, uint16_t((1 << ClusterM) - 1)), tBgB(_, k), tBsB(_, state.index()));
        ++state;
      }
      pipeline.producer_tail(state);
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<168>();
    auto mma = make_tiled_mma(SM90_64x32x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto thread = mma.get_slice(threadIdx.x % 128);
    Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{})), Shape<_64, _32>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor tCgC = thread.partition_C(gC);
    Tensor tCrC = thread.make_fragment_C(tCgC);
    Tensor tCrA = thread.make_fragment_A(thread.partition_A(sA));
    Tensor tCrB = thread.make_fragment_B(thread.partition_B(sB));
    clear(tCrC);
    cutlass::PipelineState<kStages> state;
    for (int k = 0; k < tiles; ++k) {
      pipeline.consumer_wait(state);
      warpgroup_fence_operand(tCrC);
      warpgroup_arrive();
      gemm(mma, tCrA(_, _, _, state.index()), tCrB(_, _, _, state.index()), tCrC);
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      warpgroup_fence_operand(tCrC);
      pipeline.consumer_release(state);
      ++state;
    }
    copy(tCrC, tCgC);
  }
  if constexpr (ClusterM > 1) cluster_sync();
}
template <int ClusterM, class LoadB>
cudaError_t run(CutegenArgs const* a, LoadB load_b) {
  int m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[0];
  auto rows_of = [&](half_t const* data, int rows) { return make_tensor(make_gmem_ptr(data), make_shape(rows, k), make_stride(k, _1{})); };
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, rows_of(a->in_a<half_t>(), m), LayoutA{}(_, _, 0));
  auto tma_b = make_tma_copy(load_b, rows_of(a->in_b<half_t>(), n), LayoutB{}(_, _, 0), Shape<_32, _64>{}, Int<ClusterM>{});
  auto* entry = &kernel<decltype(tma_a), decltype(tma_b), ClusterM>;
  if (auto error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared))) return error;
  cutlass::ClusterLaunchParams params{dim3(m / 64, n / 32), dim3(256), dim3(ClusterM), sizeof(Shared), a->stream};
  float* out = a->to<float>();
  auto const status = cutlass::launch_kernel_on_cluster(params, reinterpret_cast<void const*>(entry), tma_a, tma_b, out, m, n, k);
  return status == cutlass::Status::kSuccess ? cudaSuccess : cudaErrorLaunchFailure;
}
cudaError_t launch(CutegenArgs const* a) {
  if (a->a_shape[0] >= 128) return run<2>(a, SM90_TMA_LOAD_MULTICAST{});
  return run<1>(a, SM90_TMA_LOAD{});
}
}  // namespace tma_wgmma_gemm
