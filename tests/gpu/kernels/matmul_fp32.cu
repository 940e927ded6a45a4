// A plain square-tiled product in fp32: what `cutegen evaluate` costs, not how fast one can be.
#include "cutegen_args.h"

constexpr int kTile = 32;

__global__ void product(float const* a, float const* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile + 1];
  int const row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.f;
  for (int start = 0; start < k; start += kTile) {
    int const deep = start + threadIdx.x, high = start + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && deep < k ? a[size_t(row) * k + deep] : 0.f;
    right[threadIdx.y][threadIdx.x] = high < k && column < n ? b[size_t(high) * n + column] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[size_t(row) * n + column] = sum;
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->A_shape[0]), k = int(a->A_shape[1]), n = int(a->B_shape[1]);
  dim3 const grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  product<<<grid, dim3(kTile, kTile), 0, a->stream>>>(a->A, a->B, a->out, m, n, k);
  return cudaGetLastError();
}
