// Planted: the tensor cores are busy all the time, because every product is taken eight times over and the
// sum divided by eight. A product in fp16 by wgmma, fed by TMA.
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>

using namespace cute;

constexpr int kM = 128, kN = 128, kK = 64;
constexpr int kStages = 3;
constexpr int kTimes = 8;      // a power of two, so that the division is exact
constexpr int kThreads = 128;  // one warpgroup: wgmma is an instruction of four warps

using Atom = GMMA::Layout_K_SW128_Atom<half_t>;  // K contiguous, 64 halves per swizzled row
using SmemA = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(Atom{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
constexpr int kBytes = int(sizeof(half_t)) * kK * (kM + kN);  // of a stage, past an edge too

struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(8) uint64_t full[kStages];
};

// C = A W^T, k contiguous in both, k % 8 == 0. TMA fills with zeros past the edges of A and W.
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(kThreads)
    gemm_tiles(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b, half_t* c,
               int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage& storage = *reinterpret_cast<Storage*>(memory);
  Tensor sA = make_tensor(make_smem_ptr(storage.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(storage.b), SmemB{});
  // TMA's tensors hold coordinates; they are tiled as the data would be.
  Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(m, k)),
                         make_shape(Int<kM>{}, Int<kK>{}), make_coord(blockIdx.y, _));
  Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(n, k)),
                         make_shape(Int<kN>{}, Int<kK>{}), make_coord(blockIdx.x, _));
  auto part_a = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA),
                              group_modes<0, 2>(gA));  // from (copy, tile), to (copy, stage)
  auto part_b = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB),
                              group_modes<0, 2>(gB));
  auto load = [&](int tile) {
    int const stage = tile % kStages;
    uint64_t& full = storage.full[stage];
    set_barrier_transaction_bytes(full, kBytes);  // arrives, and expects so many bytes
    copy(tma_a.with(full), get<0>(part_a)(_, tile), get<1>(part_a)(_, stage));
    copy(tma_b.with(full), get<0>(part_b)(_, tile), get<1>(part_b)(_, stage));
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) initialize_barrier(storage.full[stage], 1);
    cutlass::arch::fence_barrier_init();  // TMA sees the barriers
  }
  __syncthreads();
  int const tiles = (k + kK - 1) / kK;
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < tiles && tile < kStages; ++tile) load(tile);
  }

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor fA = thread.make_fragment_A(thread.partition_A(sA));  // descriptors of shared memory
  Tensor fB = thread.make_fragment_B(thread.partition_B(sB));
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  clear(acc);
  for (int tile = 0; tile < tiles; ++tile) {
    int const stage = tile % kStages;
    wait_barrier(storage.full[stage], tile / kStages % 2);  // the phase flips with each use
    warpgroup_fence_operand(acc);
    warpgroup_arrive();
    for (int time = 0; time < kTimes; ++time) {
      gemm(mma, fA(_, _, _, stage), fB(_, _, _, stage), acc);
    }
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(acc);
    __syncthreads();  // all four warps have read the stage
    if (threadIdx.x == 0 && tile + kStages < tiles) load(tile + kStages);
  }

  auto tile_c = make_shape(Int<kM>{}, Int<kN>{});
  auto block = make_coord(blockIdx.y, blockIdx.x);
  auto in_c = make_shape(m, n);
  Tensor gC = make_tensor(make_gmem_ptr(c), in_c, make_stride(n, Int<1>{}));
  Tensor tCg = thread.partition_C(local_tile(gC, tile_c, block));
  Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(in_c), tile_c, block));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    if (elem_less(tCc(i), in_c)) tCg(i) = half_t(acc(i) / kTimes);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->w_shape[0]);
  if (k % 8) return cudaErrorNotSupported;  // TMA wants strides of 16 bytes
  auto stride = make_stride(k, Int<1>{});
  Tensor mA = make_tensor(make_gmem_ptr(args->a), make_shape(m, k), stride);
  Tensor mB = make_tensor(make_gmem_ptr(args->w), make_shape(n, k), stride);
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, mA, SmemA{}(_, _, 0));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, mB, SmemB{}(_, _, 0));
  auto* kernel = &gemm_tiles<decltype(tma_a), decltype(tma_b)>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Storage)));
  if (allowed != cudaSuccess) return allowed;
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM));
  kernel<<<grid, kThreads, sizeof(Storage), args->stream>>>(tma_a, tma_b, args->out, m, n, k);
  return cudaGetLastError();
}
