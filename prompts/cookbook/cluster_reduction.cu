// IDEA: few, very long rows: a cluster of blocks shares a row, and each block's partial sum goes
//       straight into the shared memory of the first. No second kernel, no atomics, fixed order.
// FOR: reduction
// ARCH: sm_90
// INTENT: cluster, distributed shared memory, very long rows, few rows
#include "cutegen_args.h"

#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kCluster = 4;  // blocks per row
constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

__device__ float warp_sum(float value) {
  CUTE_UNROLL
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads)
    row_sums(float const* x, float* out, int m, int n) {
  __shared__ float partial[kWarps];
  __shared__ float shares[kCluster];  // of the first block: one sum of each
  int const row = blockIdx.x / kCluster;
  uint32_t const rank = block_rank_in_cluster();
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(m, n), make_stride(n, Int<1>{}))(row, _);
  float sum = 0.0f;
  for (int i = rank * kThreads + threadIdx.x; i < n; i += kCluster * kThreads) sum += gX(i);
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    sum = warp_sum(threadIdx.x < kWarps ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) static_cast<float*>(__cluster_map_shared_rank(shares, 0))[rank] = sum;
  }
  cluster_sync();  // what was stored remotely is visible, and no block has left before
  if (rank == 0 && threadIdx.x == 0) {
    out[row] = (shares[0] + shares[1]) + (shares[2] + shares[3]);
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  row_sums<<<m * kCluster, kThreads, 0, a->stream>>>(a->x, a->out, m, n);
  return cudaGetLastError();
}
