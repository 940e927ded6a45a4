// Planted: the columns of the tile in shared memory lie in one bank each, so that every read of a warp
// is served in 32 passes. A transpose.
#include "cutegen_args.h"

constexpr int kTile = 32, kRows = 8;

__global__ void transpose(float const* x, float* out, int m, int n) {
  __shared__ float tile[kTile][kTile];
  int const m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile;
  for (int row = threadIdx.y; row < kTile; row += kRows) {
    if (m0 + row < m && n0 + threadIdx.x < n) {
      tile[row][threadIdx.x] = x[int64_t(m0 + row) * n + n0 + threadIdx.x];
    }
  }
  __syncthreads();
  for (int row = threadIdx.y; row < kTile; row += kRows) {
    if (n0 + row < n && m0 + threadIdx.x < m) {
      out[int64_t(n0 + row) * m + m0 + threadIdx.x] = tile[threadIdx.x][row];
    }
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  dim3 const grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, kRows), 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
