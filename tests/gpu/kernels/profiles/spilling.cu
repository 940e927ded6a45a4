// Planted: 64 running sums a thread, and registers for half of them at most; the rest is spilled to local
// memory and fetched in every step. A product in fp32.
#include "cutegen_args.h"

constexpr int kTile = 128, kDepth = 8, kOwn = 8, kThreads = 256;
constexpr int kBlocks = 6;  // per multiprocessor, which leaves 40 registers a thread

__global__ void __launch_bounds__(kThreads, kBlocks)
    product(float const* a, float const* b, float* out, int m, int n, int k) {
  __shared__ float left[kDepth][kTile + 4], right[kDepth][kTile];
  int const row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  int const row = threadIdx.x / 16 * kOwn, column = threadIdx.x % 16 * kOwn;
  float sums[kOwn][kOwn] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      int const r = row0 + i / kDepth, c = column0 + i % kTile;
      int const ka = k0 + i % kDepth, kb = k0 + i / kTile;
      left[i % kDepth][i / kDepth] = r < m && ka < k ? a[int64_t(r) * k + ka] : 0.f;
      right[i / kTile][i % kTile] = c < n && kb < k ? b[int64_t(kb) * n + c] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kDepth; ++step) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] += left[step][row + i] * right[step][column + j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      int const r = row0 + row + i, c = column0 + column + j;
      if (r < m && c < n) out[int64_t(r) * n + c] = sums[i][j];
    }
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  int const m = int(args->a_shape[0]), k = int(args->a_shape[1]), n = int(args->b_shape[1]);
  dim3 const grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  product<<<grid, kThreads, 0, args->stream>>>(args->a, args->b, args->out, m, n, k);
  return cudaGetLastError();
}
