// Barriers in shared memory, named barriers, clusters with each other's memory, register roles.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cluster_launch.hpp>

#include "cutegen_args.h"

using namespace cute;
using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;
using cutlass::arch::NamedBarrier;

namespace mbarrier_ring {  // one warp fills two stages in turn, three warps empty them
__global__ void kernel(int const* a, int* out, int tiles) {
  __shared__ int ring[2][96];
  __shared__ uint64_t full[2], empty[2];
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      ClusterBarrier::init(&full[s], 32);
      ClusterBarrier::init(&empty[s], 96);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  for (int tile = 0; tile < tiles; ++tile) {
    int const stage = tile % 2, phase = tile / 2 % 2;
    if (warp == 0) {
      ClusterBarrier::wait(&empty[stage], phase ^ 1);
      for (int i = lane; i < 96; i += 32) ring[stage][i] = a[tile * 96 + i];
      ClusterBarrier::arrive(&full[stage]);
    } else {
      ClusterBarrier::wait(&full[stage], phase);
      int const i = threadIdx.x - 32;
      out[tile * 96 + i] = 2 * ring[stage][95 - i];
      ClusterBarrier::arrive(&empty[stage]);
    }
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 128, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[0]);
  return cudaGetLastError();
}
}  // namespace mbarrier_ring

namespace named_ping_pong {  // two groups hand a buffer to and fro
__global__ void kernel(int const* a, int* out, int rounds) {
  __shared__ int buffer[64];
  int const group = threadIdx.x / 64, i = threadIdx.x % 64;
  for (int round = 0; round < rounds; ++round) {
    if (group == 0) {
      if (round > 0) NamedBarrier::sync(128, 2);
      buffer[i] = a[round * 64 + i];
      NamedBarrier::arrive(128, 1);
    } else {
      NamedBarrier::sync(128, 1);
      out[round * 64 + i] = buffer[i ^ 33] + round;
      if (round + 1 < rounds) NamedBarrier::arrive(128, 2);
    }
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 128, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[0]);
  return cudaGetLastError();
}
}  // namespace named_ping_pong

namespace cluster_sum {  // four blocks add up a row; each reads the sums of the others
__global__ void __cluster_dims__(4, 1, 1) cluster_sum_kernel(int const* a, int* out, int columns) {
  __shared__ int own;
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  int const rank = block_rank_in_cluster(), row = blockIdx.x / 4;
  int sum = 0;
  for (int c = rank * 64 + threadIdx.x; c < columns; c += 256) sum += a[row * columns + c];
  atomicAdd(&own, sum);
  cluster_sync();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int r = 0; r < 4; ++r) total += *static_cast<int const*>(__cluster_map_shared_rank(&own, r));
    out[blockIdx.x] = total;
  }
  cluster_sync();
}
cudaError_t launch(CutegenArgs const* a) {
  cluster_sum_kernel<<<4 * a->a_shape[0], 64, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace cluster_sum

namespace cluster_rotate {  // every block writes its tile into the memory of the next
__global__ void kernel(int const* a, int* out) {
  __shared__ int tile[128];
  uint32_t const rank = block_rank_in_cluster(), size = cluster_shape().x;
  int* const next = static_cast<int*>(__cluster_map_shared_rank(tile, (rank + 1) % size));
  cluster_sync();
  next[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  cluster_sync();
  out[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
}
cudaError_t launch(CutegenArgs const* a) {
  cutlass::ClusterLaunchParams params{dim3(a->a_shape[0]), dim3(128), dim3(a->b_shape[0]), 0, a->stream};
  int const* in = a->in_a<int>();
  int* out = a->to<int>();
  auto const status = cutlass::launch_kernel_on_cluster(params, reinterpret_cast<void const*>(&kernel), in, out);
  return status == cutlass::Status::kSuccess ? cudaSuccess : cudaErrorLaunchFailure;
}
}  // namespace cluster_rotate

namespace remote_arrive {  // two blocks; the second one signals the first one's barrier
__global__ void __cluster_dims__(2, 1, 1) remote_arrive_kernel(int const* a, int* out) {
  __shared__ int inbox[64];
  __shared__ uint64_t ready;
  uint32_t const rank = block_rank_in_cluster();
  if (threadIdx.x == 0) {
    ClusterBarrier::init(&ready, 64);
    cutlass::arch::fence_barrier_init();
  }
  cluster_sync();
  int const i = blockIdx.x / 2 * 64 + threadIdx.x;
  if (rank == 1) {
    static_cast<int*>(__cluster_map_shared_rank(inbox, 0))[threadIdx.x] = 7 * a[i];
    ClusterBarrier::arrive(&ready, 0, 1);
  } else {
    ClusterBarrier::wait(&ready, 0);
    out[i] = inbox[63 - threadIdx.x];
  }
  cluster_sync();
}
cudaError_t launch(CutegenArgs const* a) {
  remote_arrive_kernel<<<2 * a->a_shape[0], 64, 0, a->stream>>>(a->in_a<int>(), a->to<int>());
  return cudaGetLastError();
}
}  // namespace remote_arrive

namespace register_roles {  // a producer warp group gives registers away, a consumer takes them
__global__ void __launch_bounds__(256) kernel(int const* a, int* out, int tiles) {
  __shared__ int ring[2][128];
  __shared__ uint64_t full[2], empty[2];
  int const i = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      ClusterBarrier::init(&full[s], 128);
      ClusterBarrier::init(&empty[s], 128);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    for (int t = 0; t < tiles; ++t) {
      ClusterBarrier::wait(&empty[t % 2], t / 2 % 2 ^ 1);
      ring[t % 2][i] = a[t * 128 + i];
      ClusterBarrier::arrive(&full[t % 2]);
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<168>();
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
      ClusterBarrier::wait(&full[t % 2], t / 2 % 2);
      sum += ring[t % 2][127 - i];
      ClusterBarrier::arrive(&empty[t % 2]);
    }
    out[i] = sum;
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 256, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[0]);
  return cudaGetLastError();
}
}  // namespace register_roles

namespace bulk_copies {  // whole rows in by one instruction, and out again
__global__ void kernel(int const* a, int* out, int columns) {
  __shared__ alignas(128) int buffer[512];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    initialize_barrier(barrier, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(barrier, columns * 4);
    SM90_BULK_COPY_G2S::copy(a + blockIdx.x * columns, &barrier, buffer, columns * 4);
  }
  __syncthreads();
  wait_barrier(barrier, 0);
  for (int c = threadIdx.x; c < columns; c += 64) buffer[c] = -buffer[c];
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    SM90_BULK_COPY_S2G::copy(buffer, out + blockIdx.x * columns, columns * 4);
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 64, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace bulk_copies
