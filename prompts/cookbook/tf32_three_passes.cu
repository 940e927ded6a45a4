// IDEA: fp32 accuracy from the tensor cores: x = big + small, both TF32, and big*big + big*small +
//       small*big in fp32 accumulators. One TF32 pass alone is wrong by 2^-11 and is refused. Tensor
//       cores cut sums off towards zero, so a tile of K has sums of its own: the threads add them.
// FOR: matmul
// ARCH: sm_80
// INTENT: fp32, tf32, three passes, tensor cores, split, accuracy
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;
using cutlass::tfloat32_t;

constexpr int kM = 64, kN = 64, kK = 32;
constexpr int kThreads = 128;

// K contiguous, rows padded by 4 words: the fragments' reads (8 rows x 4 columns) hit 32 banks.
using Smem = Layout<Shape<Int<kM>, Int<kK>>, Stride<Int<kK + 4>, _1>>;
using CopyG2S = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                         Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                         Layout<Shape<_1, _4>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{}, Layout<Shape<_2, _2>>{},
                                    Tile<_32, _32, _8>{}));

template <class Values, class Parts>
__device__ void split(Values const& values, Parts& big, Parts& small) {
  CUTE_UNROLL
  for (int i = 0; i < size(values); ++i) {
    big(i) = tfloat32_t(values(i));                      // rounds to 11 bits of mantissa
    small(i) = tfloat32_t(values(i) - float(big(i)));    // exact before its own rounding
  }
}

// C = A W^T, k contiguous in both, k % 4 == 0.
__global__ void __launch_bounds__(kThreads)
    gemm_tiles(float const* a, float const* w, float* c, int m, int n, int k) {
  __shared__ alignas(128) float memory_a[cosize_v<Smem>], memory_b[cosize_v<Smem>];
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
  auto load = [&](auto const& from, auto const& where, auto& to, auto const& shape) {
    Tensor held = make_fragment_like(to);
    clear(held);
    Tensor inside = make_tensor<bool>(make_shape(size<1>(held), size<2>(held)));
    CUTE_UNROLL
    for (int i = 0; i < size<0>(inside); ++i) {
      CUTE_UNROLL
      for (int j = 0; j < size<1>(inside); ++j) inside(i, j) = elem_less(where(0, i, j), shape);
    }
    copy_if(g2s, inside, from, held);
    copy(g2s, held, to);
  };

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor bigA = thread.partition_fragment_A(sA);
  Tensor bigB = thread.partition_fragment_B(sB);
  Tensor smallA = make_fragment_like(bigA);
  Tensor smallB = make_fragment_like(bigB);
  Tensor valuesA = make_fragment_like<float>(bigA);
  Tensor valuesB = make_fragment_like<float>(bigB);
  Tensor fA = thread.partition_A(sA);
  Tensor fB = thread.partition_B(sB);
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  Tensor part = make_fragment_like(acc);  // sums over one tile of K: short, so little is cut off
  clear(acc);
  for (int t = 0; t < (k + kK - 1) / kK; ++t) {
    __syncthreads();  // nobody still reads the last tile
    load(tAg(_, _, _, t), tAc(_, _, _, t), tAs, in_a);
    load(tBg(_, _, _, t), tBc(_, _, _, t), tBs, in_b);
    __syncthreads();
    copy(fA, valuesA);
    copy(fB, valuesB);
    split(valuesA, bigA, smallA);
    split(valuesB, bigB, smallB);
    clear(part);
    gemm(mma, part, smallA, bigB, part);  // the small terms first: they lose least
    gemm(mma, part, bigA, smallB, part);
    gemm(mma, part, bigA, bigB, part);
    CUTE_UNROLL
    for (int i = 0; i < size(acc); ++i) acc(i) += part(i);  // rounded to nearest
  }

  auto tile_c = make_shape(Int<kM>{}, Int<kN>{});
  auto block = make_coord(blockIdx.y, blockIdx.x);
  auto in_c = make_shape(m, n);
  Tensor gC = make_tensor(make_gmem_ptr(c), in_c, make_stride(n, Int<1>{}));
  Tensor tCg = thread.partition_C(local_tile(gC, tile_c, block));
  Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(in_c), tile_c, block));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    if (elem_less(tCc(i), in_c)) tCg(i) = acc(i);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->w_shape[0]);
  if (k % 4) return cudaErrorNotSupported;
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM));
  gemm_tiles<<<grid, kThreads, 0, args->stream>>>(args->a, args->w, args->out, m, n, k);
  return cudaGetLastError();
}
