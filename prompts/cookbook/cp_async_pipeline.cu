// IDEA: a multistage pipeline: cp.async fills a ring of stages ahead of the tensor cores, and within
//       a stage the next k-block's ldmatrix runs beside this one's mma.
// FOR: matmul
// ARCH: sm_80
// INTENT: cp.async, multistage, pipeline, stages, prologue, overlap, register double buffering, fp16
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;
using cutlass::half_t;

constexpr int kM = 128, kN = 128, kK = 32;
constexpr int kStages = 4;
constexpr int kThreads = 128;

using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
using SmemA = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(Atom{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
using CopyG2S = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>{},
                                         Layout<Shape<_32, _4>, Stride<_4, _1>>{},
                                         Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{},
                                    Tile<_32, _32, _16>{}));
using Ldmatrix = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;
constexpr int kSmemBytes = int(sizeof(half_t)) * (cosize_v<SmemA> + cosize_v<SmemB>);

// C = A W^T, k contiguous in both, k % 8 == 0.
__global__ void __launch_bounds__(kThreads)
    gemm_tiles(half_t const* a, half_t const* w, half_t* c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  half_t* const memory_a = reinterpret_cast<half_t*>(memory);
  Tensor sA = make_tensor(make_smem_ptr(memory_a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(memory_a + cosize_v<SmemA>), SmemB{});
  auto tile_a = make_shape(Int<kM>{}, Int<kK>{});
  auto tile_b = make_shape(Int<kN>{}, Int<kK>{});
  auto row = make_coord(blockIdx.y, _);
  auto column = make_coord(blockIdx.x, _);
  auto in_a = make_shape(m, k);
  auto in_b = make_shape(n, k);
  auto stride = make_stride(k, Int<1>{});
  CopyG2S g2s;
  auto mine = g2s.get_slice(threadIdx.x);
  Tensor tAg = mine.partition_S(local_tile(make_tensor(make_gmem_ptr(a), in_a, stride), tile_a, row));
  Tensor tBg = mine.partition_S(local_tile(make_tensor(make_gmem_ptr(w), in_b, stride), tile_b, column));
  Tensor tAc = mine.partition_S(local_tile(make_identity_tensor(in_a), tile_a, row));
  Tensor tBc = mine.partition_S(local_tile(make_identity_tensor(in_b), tile_b, column));
  Tensor tAs = mine.partition_D(sA);
  Tensor tBs = mine.partition_D(sB);
  int const tiles = (k + kK - 1) / kK;
  auto load_half = [&](auto const& from, auto const& where, auto&& to, auto const& shape) {
    CUTE_UNROLL
    for (int i = 0; i < size<1>(from); ++i) {
      copy(g2s.with(elem_less(where(0, i, 0), shape)), from(_, i, 0), to(_, i, 0));
    }
  };
  auto load = [&](int t) {
    if (t < tiles) {
      load_half(tAg(_, _, _, t), tAc(_, _, _, t), tAs(_, _, _, t % kStages), in_a);
      load_half(tBg(_, _, _, t), tBc(_, _, _, t), tBs(_, _, _, t % kStages), in_b);
    }
    cp_async_fence();  // a group per round, empty or not, so that the count below stays right
  };

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor rA = thread.partition_fragment_A(sA(_, _, 0));
  Tensor rB = thread.partition_fragment_B(sB(_, _, 0));
  auto load_a = make_tiled_copy_A(Ldmatrix{}, mma);
  auto load_b = make_tiled_copy_B(Ldmatrix{}, mma);
  auto from_a = load_a.get_slice(threadIdx.x);
  auto from_b = load_b.get_slice(threadIdx.x);
  Tensor xA = from_a.partition_S(sA);
  Tensor xB = from_b.partition_S(sB);
  Tensor yA = from_a.retile_D(rA);
  Tensor yB = from_b.retile_D(rB);
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  clear(acc);
  constexpr int kBlocks = size<2>(decltype(rA){});  // k-blocks of one mma within a stage

  CUTE_UNROLL
  for (int t = 0; t < kStages - 1; ++t) load(t);  // the prologue leaves one stage free
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<kStages - 2>();  // stage t is there for this thread,
    __syncthreads();               // for all, and all are done with the stage that is filled now
    load(t + kStages - 1);
    int const stage = t % kStages;
    copy(load_a, xA(_, _, 0, stage), yA(_, _, 0));
    copy(load_b, xB(_, _, 0, stage), yB(_, _, 0));
    CUTE_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      if (block + 1 < kBlocks) {
        copy(load_a, xA(_, _, block + 1, stage), yA(_, _, block + 1));
        copy(load_b, xB(_, _, block + 1, stage), yB(_, _, block + 1));
      }
      gemm(mma, acc, rA(_, _, block), rB(_, _, block), acc);
    }
  }

  auto tile_c = make_shape(Int<kM>{}, Int<kN>{});
  auto block = make_coord(blockIdx.y, blockIdx.x);
  auto in_c = make_shape(m, n);
  Tensor gC = make_tensor(make_gmem_ptr(c), in_c, make_stride(n, Int<1>{}));
  Tensor tCg = thread.partition_C(local_tile(gC, tile_c, block));
  Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(in_c), tile_c, block));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    if (elem_less(tCc(i), in_c)) tCg(i) = half_t(acc(i));
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->w_shape[0]);
  if (k % 8) return cudaErrorNotSupported;
  cudaError_t const allowed =  // more than 48 KiB must be asked for
      cudaFuncSetAttribute(gemm_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmemBytes);
  if (allowed != cudaSuccess) return allowed;
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM));
  gemm_tiles<<<grid, kThreads, kSmemBytes, args->stream>>>(args->a, args->w, args->out, m, n, k);
  return cudaGetLastError();
}
