// IDEA: the tensor cores of sm_80 and later: 128-bit copies into swizzled shared memory, ldmatrix
//       from there into the registers that mma wants, fp32 accumulators. One stage, for clarity.
// FOR: matmul
// ARCH: sm_80
// INTENT: tensor cores, ldmatrix, mma, swizzle, fp16, shared memory layout
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;
using cutlass::half_t;

constexpr int kM = 64, kN = 64, kK = 64;
constexpr int kThreads = 128;

// Rows of 64 halves are 128 bytes, all 32 banks; the swizzle spreads a column of 16-byte pieces over
// the banks, so that neither the copy's writes nor ldmatrix's reads collide.
using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>>{}));  // the same for A and B
using CopyG2S = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                                         Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                         Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{},
                                    Tile<_32, _32, _16>{}));
using Ldmatrix = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;

// C = A W^T: A is m x k, W is n x k, both with k contiguous (what mma calls TN). k % 8 == 0.
__global__ void __launch_bounds__(kThreads)
    gemm_tiles(half_t const* a, half_t const* w, half_t* c, int m, int n, int k) {
  __shared__ alignas(128) half_t memory_a[cosize_v<Smem>], memory_b[cosize_v<Smem>];
  Tensor sA = make_tensor(make_smem_ptr(memory_a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(memory_b), Smem{});
  auto tile = make_shape(Int<kM>{}, Int<kK>{});
  auto row = make_coord(blockIdx.y, _);
  auto column = make_coord(blockIdx.x, _);
  auto in_a = make_shape(m, k);
  auto in_b = make_shape(n, k);
  auto stride = make_stride(k, Int<1>{});
  CopyG2S g2s;
  auto mine = g2s.get_slice(threadIdx.x);
  Tensor tAg = mine.partition_S(local_tile(make_tensor(make_gmem_ptr(a), in_a, stride), tile, row));
  Tensor tBg = mine.partition_S(local_tile(make_tensor(make_gmem_ptr(w), in_b, stride), tile, column));
  Tensor tAc = mine.partition_S(local_tile(make_identity_tensor(in_a), tile, row));
  Tensor tBc = mine.partition_S(local_tile(make_identity_tensor(in_b), tile, column));
  Tensor tAs = mine.partition_D(sA);
  Tensor tBs = mine.partition_D(sB);
  Tensor held_a = make_fragment_like(tAs);
  Tensor held_b = make_fragment_like(tBs);
  auto fetch = [&](auto const& from, auto const& where, auto& held, auto const& shape) {
    clear(held);  // zeros past every edge, so that the tail of K adds nothing
    Tensor inside = make_tensor<bool>(make_shape(size<1>(held), size<2>(held)));
    CUTE_UNROLL
    for (int i = 0; i < size<0>(inside); ++i) {
      CUTE_UNROLL
      for (int j = 0; j < size<1>(inside); ++j) inside(i, j) = elem_less(where(0, i, j), shape);
    }
    copy_if(g2s, inside, from, held);
  };

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor rA = thread.partition_fragment_A(sA);
  Tensor rB = thread.partition_fragment_B(sB);
  auto load_a = make_tiled_copy_A(Ldmatrix{}, mma);
  auto load_b = make_tiled_copy_B(Ldmatrix{}, mma);
  auto from_a = load_a.get_slice(threadIdx.x);
  auto from_b = load_b.get_slice(threadIdx.x);
  Tensor xA = from_a.partition_S(sA);
  Tensor xB = from_b.partition_S(sB);
  Tensor yA = from_a.retile_D(rA);  // the same registers, as it sees them
  Tensor yB = from_b.retile_D(rB);
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  clear(acc);
  for (int t = 0; t < (k + kK - 1) / kK; ++t) {
    fetch(tAg(_, _, _, t), tAc(_, _, _, t), held_a, in_a);
    fetch(tBg(_, _, _, t), tBc(_, _, _, t), held_b, in_b);
    __syncthreads();  // nobody still reads the last tile
    copy(g2s, held_a, tAs);
    copy(g2s, held_b, tBs);
    __syncthreads();
    copy(load_a, xA, yA);
    copy(load_b, xB, yB);
    gemm(mma, acc, rA, rB, acc);
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
  if (k % 8) return cudaErrorNotSupported;  // rows are no multiples of 16 bytes
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM));
  gemm_tiles<<<grid, kThreads, 0, args->stream>>>(args->a, args->w, args->out, m, n, k);
  return cudaGetLastError();
}
