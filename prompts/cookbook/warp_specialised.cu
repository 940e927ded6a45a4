// IDEA: overlap by roles: a producer warp keeps a ring of stages full by TMA, two consumer warpgroups
//       multiply; blocks are persistent, so that the next tile loads while this one is stored.
// FOR: matmul
// ARCH: sm_90
// INTENT: warp specialisation, producer, consumer, persistent, pipeline, mbarrier, setmaxnreg, wgmma
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/pipeline/pipeline.hpp>

using namespace cute;

constexpr int kM = 128, kN = 128, kK = 64;
constexpr int kStages = 4;
constexpr int kConsumers = 256;                // two warpgroups, 64 rows each
constexpr int kThreads = 128 + kConsumers;     // the first warpgroup produces
constexpr int kMostBlocks = 132;               // one per multiprocessor of an H100 or H200
constexpr int kBand = 8;                       // rows of tiles that share columns in L2

using Atom = GMMA::Layout_K_SW128_Atom<half_t>;
using SmemA = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(Atom{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                    Layout<Shape<_2, _1, _1>>{}));
using Pipeline = cutlass::PipelineTmaAsync<kStages>;

struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(16) Pipeline::SharedStorage pipeline;
};

// The tile that a block works on: bands of kBand rows, column after column.
__device__ auto place(int index, int rows, int columns) {
  int const band = index / (kBand * columns), first = band * kBand;
  int const height = rows - first < kBand ? rows - first : kBand;
  int const rest = index - band * kBand * columns;
  return make_coord(first + rest % height, rest / height);
}

// C = A W^T, k contiguous in both, k % 8 == 0.
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_tiles(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b, half_t* c,
               int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage& storage = *reinterpret_cast<Storage*>(memory);
  int const warpgroup = cutlass::canonical_warp_group_idx();
  int const warp = cutlass::canonical_warp_idx_sync();
  bool const leads = elect_one_sync();
  Tensor sA = make_tensor(make_smem_ptr(storage.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(storage.b), SmemB{});

  Pipeline::Params params;
  params.transaction_bytes = sizeof(half_t) * kK * (kM + kN);
  params.role = warpgroup == 0 ? Pipeline::ThreadCategory::Producer
                               : Pipeline::ThreadCategory::Consumer;
  params.is_leader = warp == 0 && leads;
  params.num_consumers = kConsumers;
  Pipeline pipeline(storage.pipeline, params, Shape<_1, _1, _1>{});
  __syncthreads();

  int const rows = (m + kM - 1) / kM, columns = (n + kN - 1) / kN, steps = (k + kK - 1) / kK;
  if (warpgroup == 0) {
    cutlass::arch::warpgroup_reg_dealloc<40>();  // the consumers need its registers
    if (warp == 0 && leads) {
      Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(m, k)),
                             make_shape(Int<kM>{}, Int<kK>{}), make_coord(_, _));
      Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(n, k)),
                             make_shape(Int<kN>{}, Int<kK>{}), make_coord(_, _));
      auto part_a = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA),
                                  group_modes<0, 2>(gA));  // from (copy, row, step), to (copy, stage)
      auto part_b = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB),
                                  group_modes<0, 2>(gB));
      auto state = cutlass::make_producer_start_state<Pipeline>();
      for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
        auto const at = place(index, rows, columns);
        for (int step = 0; step < steps; ++step, ++state) {  // the ring runs on over the tiles
          pipeline.producer_acquire(state);
          auto* barrier = pipeline.producer_get_barrier(state);
          copy(tma_a.with(*barrier), get<0>(part_a)(_, get<0>(at), step),
               get<1>(part_a)(_, state.index()));
          copy(tma_b.with(*barrier), get<0>(part_b)(_, get<1>(at), step),
               get<1>(part_b)(_, state.index()));
        }
      }
      pipeline.producer_tail(state);  // the block may not end while a copy is on its way
    }
    return;
  }

  cutlass::arch::warpgroup_reg_alloc<232>();
  Mma mma;
  auto thread = mma.get_slice(threadIdx.x - 128);
  Tensor fA = thread.make_fragment_A(thread.partition_A(sA));
  Tensor fB = thread.make_fragment_B(thread.partition_B(sB));
  auto tile_c = make_shape(Int<kM>{}, Int<kN>{});
  auto in_c = make_shape(m, n);
  Tensor gC = make_tensor(make_gmem_ptr(c), in_c, make_stride(n, Int<1>{}));
  Tensor acc = partition_fragment_C(mma, tile_c);
  cutlass::PipelineState<kStages> state, release;
  for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
    clear(acc);
    warpgroup_fence_operand(acc);
    for (int step = 0; step < steps; ++step, ++state) {
      pipeline.consumer_wait(state);
      warpgroup_arrive();
      gemm(mma, fA(_, _, _, state.index()), fB(_, _, _, state.index()), acc);
      warpgroup_commit_batch();
      if (step > 0) {  // one product stays in flight; the one before has read its stage
        warpgroup_wait<1>();
        pipeline.consumer_release(release);
        ++release;
      }
    }
    warpgroup_wait<0>();
    warpgroup_fence_operand(acc);
    pipeline.consumer_release(release);
    ++release;
    auto const at = place(index, rows, columns);
    Tensor tCg = thread.partition_C(local_tile(gC, tile_c, at));
    Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(in_c), tile_c, at));
    CUTE_UNROLL
    for (int i = 0; i < size(acc); ++i) {
      if (elem_less(tCc(i), in_c)) tCg(i) = half_t(acc(i));
    }
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->w_shape[0]);
  if (k % 8) return cudaErrorNotSupported;
  auto stride = make_stride(k, Int<1>{});
  Tensor mA = make_tensor(make_gmem_ptr(args->a), make_shape(m, k), stride);
  Tensor mB = make_tensor(make_gmem_ptr(args->w), make_shape(n, k), stride);
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, mA, SmemA{}(_, _, 0));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, mB, SmemB{}(_, _, 0));
  auto* kernel = &gemm_tiles<decltype(tma_a), decltype(tma_b)>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Storage)));
  if (allowed != cudaSuccess) return allowed;
  int const tiles = ceil_div(m, kM) * ceil_div(n, kN);
  int const blocks = tiles < kMostBlocks ? tiles : kMostBlocks;
  kernel<<<blocks, kThreads, sizeof(Storage), args->stream>>>(tma_a, tma_b, args->out, m, n, k);
  return cudaGetLastError();
}
