// playbook: matmul {"block_k": 8, "block_m": 128, "block_n": 128, "prefetch": false, "registers": true, "tile": 16, "tiled": true}
// 1_Square_matrix_multiplication_: C(m, n) = sum over k of A(m, k) * B(n, k), with everything after it in the epilogue.
#include "cutegen_args.h"

#include <climits>

#include <cute/tensor.hpp>

using namespace cute;

using T = float;  // the type of the arithmetic
using ElementA = float;
using ElementB = float;

constexpr int kThreads = 256;  // 16 x 16, each with a register tile
constexpr int kBlockM = 128;
constexpr int kBlockN = 128;
constexpr int kBlockK = 8;
constexpr int kPad = 4;  // keeps columns 16-byte aligned, and stores off one bank

// Everything between loads and stores, for one element.
struct Chain {
  CUTE_HOST_DEVICE void operator()(T acc, float& out) const {
    out = float(acc);
  }
};

struct Problem {
  int M, N, K, L;
};

__host__ __device__ inline Problem problem_of(CutegenArgs const& a) {
  return {int(a.A_shape[0]), int(a.B_shape[1]), int(a.A_shape[1]), int(1)};
}

// How the block's threads share the copy of a tile whose rows are contiguous along its second mode
// (KMajor) or its first: 128 bits per access where the extents allow it, else one element. A tile
// with fewer accesses than the block has threads is shared by the first threads only.
template <class Element, int kRows, bool kKMajor, bool kWide>
CUTE_HOST_DEVICE constexpr auto tile_copy() {
  constexpr int kElements = kWide ? 16 / int(sizeof(Element)) : 1;
  using Atom = Copy_Atom<UniversalCopy<uint_bit_t<kElements * sizeof_bits_v<Element>>>, Element>;
  if constexpr (kKMajor) {
    constexpr int kAcross = kBlockK / kElements;
    constexpr int kAlong = cute::min(kThreads / kAcross, kRows);
    return make_tiled_copy(Atom{}, Layout<Shape<Int<kAlong>, Int<kAcross>>, Stride<Int<kAcross>, _1>>{},
        Layout<Shape<_1, Int<kElements>>>{});
  } else {
    constexpr int kAlong = kRows / kElements;
    constexpr int kAcross = cute::min(kThreads / kAlong, kBlockK);
    return make_tiled_copy(Atom{}, Layout<Shape<Int<kAlong>, Int<kAcross>>>{},
        Layout<Shape<Int<kElements>, _1>>{});
  }
}

// Global memory to registers; what lies outside (rows, depth) becomes zero.
template <class Copy, class Source, class Coordinates, class Fragment>
CUTE_DEVICE void load_tile(Copy const& tile_copy, Source const& source, Coordinates const& coordinates,
    Fragment& fragment, int rows, int depth) {
  if (threadIdx.x >= size(tile_copy)) return;
  CUTE_UNROLL
  for (int i = 0; i < size<1>(fragment); ++i) {
    CUTE_UNROLL
    for (int j = 0; j < size<2>(fragment); ++j) {
      auto const first = coordinates(0, i, j);
      if (get<0>(first) < rows && get<1>(first) < depth) {
        copy(tile_copy, source(_, i, j), fragment(_, i, j));
      } else {
        clear(fragment(_, i, j));
      }
    }
  }
}

// Registers to shared memory, converted to the type of the arithmetic.
template <class Copy, class Fragment, class Target>
CUTE_DEVICE void store_tile(Copy const& tile_copy, Fragment const& fragment, Target&& target) {
  if (threadIdx.x >= size(tile_copy)) return;
  CUTE_UNROLL
  for (int i = 0; i < size(fragment); ++i) target(i) = T(fragment(i));
}

template <bool kWideA, bool kWideB>
__global__ void __launch_bounds__(kThreads) multiply(CutegenArgs const a, Chain const chain) {
  auto const [M, N, K, L] = problem_of(a);
  int const l = blockIdx.z;
  Tensor mA = make_tensor(make_gmem_ptr(a.A + int64_t(l) * M * K), make_shape(M, K),
      make_stride(int64_t(K), Int<1>{}));  // (M,K)
  Tensor mB = make_tensor(make_gmem_ptr(a.B), make_shape(N, K),
      make_stride(Int<1>{}, int64_t(N)));  // (N,K)

  // both tiles run fastest along their rows, the way the inner loop reads them
  using LayoutA = Layout<Shape<Int<kBlockM>, Int<kBlockK>>, Stride<_1, Int<kBlockM + kPad>>>;
  using LayoutB = Layout<Shape<Int<kBlockN>, Int<kBlockK>>, Stride<_1, Int<kBlockN + kPad>>>;
  __shared__ alignas(16) T shared_a[cosize_v<LayoutA>];
  __shared__ alignas(16) T shared_b[cosize_v<LayoutB>];
  Tensor sA = make_tensor(make_smem_ptr(shared_a), LayoutA{});  // (BLK_M,BLK_K)
  Tensor sB = make_tensor(make_smem_ptr(shared_b), LayoutB{});  // (BLK_N,BLK_K)

  Tensor gA = local_tile(mA, Shape<Int<kBlockM>, Int<kBlockK>>{}, make_coord(blockIdx.y, _));  // (BLK_M,BLK_K,k)
  Tensor gB = local_tile(mB, Shape<Int<kBlockN>, Int<kBlockK>>{}, make_coord(blockIdx.x, _));  // (BLK_N,BLK_K,k)
  int const rows_a = M - int(blockIdx.y) * kBlockM, rows_b = N - int(blockIdx.x) * kBlockN;

  auto copy_a = tile_copy<ElementA, kBlockM, true, kWideA>();
  auto copy_b = tile_copy<ElementB, kBlockN, false, kWideB>();
  auto thread_a = copy_a.get_slice(threadIdx.x);
  auto thread_b = copy_b.get_slice(threadIdx.x);
  Tensor tAgA = thread_a.partition_S(gA);  // (CPY,CPY_M,CPY_K,k)
  Tensor tBgB = thread_b.partition_S(gB);  // (CPY,CPY_N,CPY_K,k)
  Tensor tAsA = thread_a.partition_D(sA);  // (CPY,CPY_M,CPY_K)
  Tensor tBsB = thread_b.partition_D(sB);  // (CPY,CPY_N,CPY_K)
  Tensor tAcA = thread_a.partition_S(make_identity_tensor(Shape<Int<kBlockM>, Int<kBlockK>>{}));
  Tensor tBcB = thread_b.partition_S(make_identity_tensor(Shape<Int<kBlockN>, Int<kBlockK>>{}));
  Tensor tArA = make_tensor<ElementA>(shape(tAcA));
  Tensor tBrB = make_tensor<ElementB>(shape(tBcB));

  // 16 x 16 threads; each holds groups of four neighbouring rows and columns, so that its reads
  // from shared memory are 128 bits wide
  using Four = Layout<Shape<_16, _4>, Stride<_4, _1>>;
  auto const mma = make_tiled_mma(UniversalFMA<T, T, T>{}, Layout<Shape<_16, _16, _1>>{}, Tile<Four, Four, _1>{});
  auto thread_mma = mma.get_slice(threadIdx.x);
  Tensor tCsA = thread_mma.partition_A(sA);  // (MMA,MMA_M,MMA_K)
  Tensor tCsB = thread_mma.partition_B(sB);  // (MMA,MMA_N,MMA_K)
  Tensor tCrA = thread_mma.make_fragment_A(tCsA);  // (MMA,MMA_M,MMA_K)
  Tensor tCrB = thread_mma.make_fragment_B(tCsB);  // (MMA,MMA_N,MMA_K)
  Tensor tCcC = thread_mma.partition_C(make_identity_tensor(Shape<Int<kBlockM>, Int<kBlockN>>{}));
  Tensor tCrC = make_tensor<T>(shape(tCcC));  // (MMA,MMA_M,MMA_N)
  clear(tCrC);

  int const tiles = (K + kBlockK - 1) / kBlockK;
  for (int tile = 0; tile < tiles; ++tile) {
    load_tile(copy_a, tAgA(_, _, _, tile), tAcA, tArA, rows_a, K - tile * kBlockK);
    load_tile(copy_b, tBgB(_, _, _, tile), tBcB, tBrB, rows_b, K - tile * kBlockK);
    __syncthreads();  // the tile before has been read
    store_tile(copy_a, tArA, tAsA);
    store_tile(copy_b, tBrB, tBsB);
    __syncthreads();
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tCrA); ++k) {
      copy(tCsA(_, _, k), tCrA(_, _, k));
      copy(tCsB(_, _, k), tCrB(_, _, k));
      gemm(mma, tCrA(_, _, k), tCrB(_, _, k), tCrC);
    }
  }

  CUTE_UNROLL
  for (int i = 0; i < size(tCrC); ++i) {
    auto const c = tCcC(i);
    int const m = int(blockIdx.y) * kBlockM + get<0>(c), n = int(blockIdx.x) * kBlockN + get<1>(c);
    if (m < M && n < N) {
      int64_t const at = (int64_t(l) * M + m) * N + n;
      chain(tCrC(i), a.out[at]);
    }
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  if (a->A_shape[0] > INT_MAX || a->B_shape[1] > INT_MAX || a->A_shape[1] > INT_MAX) {
    return cudaErrorNotSupported;
  }
  auto const [M, N, K, L] = problem_of(*a);
  if (M == 0 || N == 0 || L == 0) return cudaSuccess;
  int const blocks_m = (M + kBlockM - 1) / kBlockM, blocks_n = (N + kBlockN - 1) / kBlockN;
  if (blocks_m > 65535 || L > 65535) return cudaErrorNotSupported;  // the limits of gridDim.y and .z
  Chain const chain{};
  bool const wide_a = K % 4 == 0;
  bool const wide_b = N % 4 == 0;
  auto const kernel = wide_a ? (wide_b ? multiply<true, true> : multiply<true, false>)
  : (wide_b ? multiply<false, true> : multiply<false, false>);
  kernel<<<dim3(blocks_n, blocks_m, L), kThreads, 0, a->stream>>>(*a, chain);
  return cudaGetLastError();
}
