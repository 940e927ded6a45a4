// IDEA: a true fp32 product: a block's tile in shared memory, a register tile per thread by a
//       TiledMMA of FMAs, and the next tile on its way by cp.async while this one is multiplied.
// FOR: matmul
// ARCH: sm_80
// INTENT: fp32, register tile, double buffering, cp.async, SIMT, fma
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kM = 64, kN = 64, kK = 16;  // a block's tile
constexpr int kThreads = 256;             // 16 x 16, each with 4 x 4 elements of C
constexpr int kStages = 2;

// M and N are contiguous in shared memory: the inner loop reads along them. The padding of 4 keeps
// the scattered writes of A's copy, which runs along K, out of each other's banks.
using SmemA = Layout<Shape<Int<kM>, Int<kK>, Int<kStages>>, Stride<_1, Int<kM + 4>, Int<kK*(kM + 4)>>>;
using SmemB = Layout<Shape<Int<kN>, Int<kK>, Int<kStages>>, Stride<_1, Int<kN>, Int<kK * kN>>>;
// Past an edge the asynchronous copy writes zeros instead.
using CopyAtom = Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<float>, float>;
using CopyA = decltype(make_tiled_copy(CopyAtom{}, Layout<Shape<_16, _16>, Stride<_16, _1>>{}));
using CopyB = decltype(make_tiled_copy(CopyAtom{}, Layout<Shape<_64, _4>>{}));
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{}));

// One stage of a copy, element by element, each with its own predicate.
template <class Copy, class G, class S, class C, class Shape>
__device__ void copy_tile(Copy const& copy_atom, G const& from, S&& to, C const& where,
                          Shape const& shape) {
  CUTE_UNROLL
  for (int i = 0; i < size<1>(from); ++i) {
    CUTE_UNROLL
    for (int j = 0; j < size<2>(from); ++j) {
      copy(copy_atom.with(elem_less(where(0, i, j), shape)), from(_, i, j), to(_, i, j));
    }
  }
}

// C = A B, all row-major. B is seen as N x K with strides (1, n).
__global__ void __launch_bounds__(kThreads)
    gemm_tiles(float const* a, float const* b, float* c, int m, int n, int k) {
  __shared__ float memory_a[cosize_v<SmemA>], memory_b[cosize_v<SmemB>];
  Tensor sA = make_tensor(make_smem_ptr(memory_a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(memory_b), SmemB{});
  auto tile_a = make_shape(Int<kM>{}, Int<kK>{});
  auto tile_b = make_shape(Int<kN>{}, Int<kK>{});
  auto row = make_coord(blockIdx.y, _);
  auto column = make_coord(blockIdx.x, _);
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{})),
                         tile_a, row);  // (kM, kK, tiles along K)
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(Int<1>{}, n)),
                         tile_b, column);
  Tensor cA = local_tile(make_identity_tensor(make_shape(m, k)), tile_a, row);
  Tensor cB = local_tile(make_identity_tensor(make_shape(n, k)), tile_b, column);

  CopyA copy_a;
  CopyB copy_b;
  auto slice_a = copy_a.get_slice(threadIdx.x);
  auto slice_b = copy_b.get_slice(threadIdx.x);
  Tensor tAg = slice_a.partition_S(gA);
  Tensor tAs = slice_a.partition_D(sA);
  Tensor tAc = slice_a.partition_S(cA);
  Tensor tBg = slice_b.partition_S(gB);
  Tensor tBs = slice_b.partition_D(sB);
  Tensor tBc = slice_b.partition_S(cB);
  auto load = [&](int tile) {
    int const stage = tile % kStages;
    copy_tile(copy_a, tAg(_, _, _, tile), tAs(_, _, _, stage), tAc(_, _, _, tile), make_shape(m, k));
    copy_tile(copy_b, tBg(_, _, _, tile), tBs(_, _, _, stage), tBc(_, _, _, tile), make_shape(n, k));
    cp_async_fence();
  };

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  clear(acc);
  int const tiles = (k + kK - 1) / kK;
  load(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      load(tile + 1);
      cp_async_wait<1>();  // all but the newest group: this tile is there
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();  // for every thread
    Tensor fA = thread.partition_A(sA(_, _, tile % kStages));
    Tensor fB = thread.partition_B(sB(_, _, tile % kStages));
    gemm(mma, acc, fA, fB, acc);  // fp32 operands straight from shared memory
    __syncthreads();  // nobody still reads the stage that is loaded next
  }

  auto tile_c = make_shape(Int<kM>{}, Int<kN>{});
  auto block = make_coord(blockIdx.y, blockIdx.x);
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, Int<1>{})),
                         tile_c, block);
  Tensor tCg = thread.partition_C(gC);
  Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(make_shape(m, n)), tile_c, block));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    if (elem_less(tCc(i), make_shape(m, n))) tCg(i) = acc(i);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->b_shape[1]);
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM));
  gemm_tiles<<<grid, kThreads, 0, args->stream>>>(args->a, args->b, args->out, m, n, k);
  return cudaGetLastError();
}
