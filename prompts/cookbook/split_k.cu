// IDEA: too few tiles for the machine, but a long K: blocks share a tile of C along K, leave partial
//       sums in the workspace, and a second kernel adds them in a fixed order (atomics would not).
// FOR: matmul, reduction
// ARCH: sm_80
// INTENT: split-k, few tiles, skinny, long k, workspace, deterministic
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kM = 32, kN = 32, kK = 16;
constexpr int kThreads = 64;  // 8 x 8, each with 4 x 4 elements
constexpr int kSlices = 16;   // blocks that share a tile of C

using Smem = Layout<Shape<Int<kM>, Int<kK>>, Stride<_1, Int<kM + 1>>>;
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));

// partial[slice] = A W^T over the slice's part of K.
__global__ void __launch_bounds__(kThreads)
    partial_products(float const* a, float const* w, float* partial, int m, int n, int k) {
  __shared__ float memory_a[cosize_v<Smem>], memory_b[cosize_v<Smem>];
  Tensor sA = make_tensor(make_smem_ptr(memory_a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(memory_b), Smem{});
  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{}));
  Tensor mB = make_tensor(make_gmem_ptr(w), make_shape(n, k), make_stride(k, Int<1>{}));
  int const m0 = blockIdx.y * kM, n0 = blockIdx.x * kN, slice = blockIdx.z;
  int const tiles = (k + kK - 1) / kK, each = (tiles + kSlices - 1) / kSlices;
  int const last = min(tiles, (slice + 1) * each);

  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor fA = thread.partition_A(sA);
  Tensor fB = thread.partition_B(sB);
  Tensor acc = partition_fragment_C(mma, make_shape(Int<kM>{}, Int<kN>{}));
  clear(acc);  // a slice without tiles leaves zeros
  for (int t = slice * each; t < last; ++t) {
    __syncthreads();
    for (int i = threadIdx.x; i < kM * kK; i += kThreads) {
      int const row = i / kK, kk = i % kK, at = t * kK + kk;
      sA(row, kk) = m0 + row < m && at < k ? mA(m0 + row, at) : 0.0f;
      sB(row, kk) = n0 + row < n && at < k ? mB(n0 + row, at) : 0.0f;
    }
    __syncthreads();
    gemm(mma, acc, fA, fB, acc);
  }
  auto tile = make_shape(Int<kM>{}, Int<kN>{});
  auto block = make_coord(blockIdx.y, blockIdx.x);
  auto in_c = make_shape(m, n);
  Tensor gC = make_tensor(make_gmem_ptr(partial + int64_t(slice) * m * n), in_c,
                          make_stride(n, Int<1>{}));
  Tensor tCg = thread.partition_C(local_tile(gC, tile, block));
  Tensor tCc = thread.partition_C(local_tile(make_identity_tensor(in_c), tile, block));
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    if (elem_less(tCc(i), in_c)) tCg(i) = acc(i);
  }
}

__global__ void add_slices(float const* partial, float* c, int64_t n) {
  int64_t const i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Tensor gP = make_tensor(make_gmem_ptr(partial), make_shape(n, Int<kSlices>{}));
  Tensor held = make_tensor<float>(Int<kSlices>{});
  CUTE_UNROLL
  for (int slice = 0; slice < kSlices; ++slice) held(slice) = gP(i, slice);
  CUTE_UNROLL
  for (int half = kSlices / 2; half > 0; half /= 2) {  // a tree, always the same one
    CUTE_UNROLL
    for (int slice = 0; slice < half; ++slice) held(slice) += held(slice + half);
  }
  c[i] = held(0);
}

extern "C" size_t cutegen_workspace_bytes(CutegenArgs const* args) {
  return size_t(args->a_shape[0]) * args->w_shape[0] * kSlices * sizeof(float);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->w_shape[0]);
  float* const partial = static_cast<float*>(args->workspace);
  dim3 const grid(ceil_div(n, kN), ceil_div(m, kM), kSlices);
  partial_products<<<grid, kThreads, 0, args->stream>>>(args->a, args->w, partial, m, n, k);
  int64_t const elements = int64_t(m) * n;
  add_slices<<<unsigned(ceil_div(elements, int64_t(256))), 256, 0, args->stream>>>(partial, args->out,
                                                                               elements);
  return cudaGetLastError();
}
