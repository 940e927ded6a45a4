// Kernels that a GPU runs without a word, each with one fault, or with what only looks like one.
// `here` marks the line that is at fault, `there` the other side of a race.
#include "cutegen_args.h"

__global__ void reads_past(float const* a, float* out, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i % n] = a[i];  // here
}

__global__ void selects_after_the_read(float const* a, float* out, int n) {
  int const i = threadIdx.x;
  float const value = a[i + 16384 - 32 + 1];  // here
  out[i] = i < n ? value : 0.f;
}

__global__ void writes_before(float* out) {
  out[int(threadIdx.x) - 1] = 1;  // here
}

__global__ void far_away(float const* a, float* out, long distance) {
  out[threadIdx.x] = a[distance];  // here
}

__global__ void through_null(float const* a, float* out) {
  float const* nothing = out[0] == 0 ? nullptr : a;
  out[threadIdx.x] = nothing[threadIdx.x];  // here
}

__global__ void copies_too_much(float const* a, float* out) {
  if (threadIdx.x == 0) memcpy(out, a, (16384 + 1) * sizeof(float));  // here
}

__device__ float pick(float const* from, int i) {
  return from[i];  // here
}

__global__ void reads_past_shared(float const* a, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = pick(tile, threadIdx.x + 1);
}

__global__ void far_past_shared(float* out) {
  extern __shared__ float storage[];
  storage[threadIdx.x + (1 << 18)] = 1;  // here
  out[threadIdx.x] = storage[threadIdx.x];
}

__global__ void no_barrier(float const* a, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = a[threadIdx.x];  // there
  out[threadIdx.x] = tile[63 - threadIdx.x];  // here
}

__global__ void no_second_barrier(float const* a, float* out) {
  __shared__ float tile[64];
  for (int turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = a[threadIdx.x + turn];  // here
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];  // there
  }
}

// Lanes of a warp run in step on an old GPU only.
__global__ void no_syncwarp(float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = threadIdx.x;  // there
  if (threadIdx.x < 16) tile[threadIdx.x] += tile[threadIdx.x + 16];  // here
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void blocks_write_one_place(float* out) {
  if (threadIdx.x == 0) out[0] = blockIdx.x;  // here there
}

__global__ void reads_what_another_block_writes(float* out) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i;  // there
  if (i >= blockDim.x) out[i] += out[i - blockDim.x];  // here
}

__global__ void sums_without_atomics(float* out) {
  out[0] += 1;  // here there
}

__global__ void unwritten(float const* a, float* out) {
  __shared__ float tile[33];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];  // here
}

// All of these are right.

__global__ void all_write_the_same(float* out) {
  __shared__ float same;
  same = 3;
  __syncthreads();
  out[threadIdx.x] = same;
  out[1000] = 7;
}

__global__ void in_step(float const* a, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = a[threadIdx.x];
  for (int d = 1; d < 32; d *= 2) {
    __syncwarp();
    float const other = tile[threadIdx.x ^ d];
    __syncwarp();
    tile[threadIdx.x] += other;
  }
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void shuffles_order(float* out) {
  __shared__ float tile[64];
  int const warp = threadIdx.x / 32 * 32;
  tile[threadIdx.x] = threadIdx.x;
  __shfl_sync(0xffffffffu, 0, 0);
  out[threadIdx.x] = tile[warp + 31 - (threadIdx.x - warp)];
}

// The last block to arrive sums what all have written.
__global__ void last_block_sums(float* out, int* arrived) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += out[1 + i];
  out[0] = sum;
}

__global__ void waits_on_volatile(float* out) {
  __shared__ volatile int open;
  __shared__ float value;
  if (threadIdx.x == 0) open = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    value = 5;
    __threadfence_block();
    open = 1;
  }
  while (!open) {}
  out[threadIdx.x] = value;
}

#define RUN(name, kernel, ...) \
  if (a->calls(name)) kernel<<<a->grid, a->block, 128, a->stream>>>(__VA_ARGS__)

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  float* out = a->out;
  RUN("reads_past", reads_past, a->a, out, a->n);
  RUN("selects_after_the_read", selects_after_the_read, a->a, out, a->n);
  RUN("writes_before", writes_before, out);
  RUN("far_away", far_away, a->a, out, 30000l);
  RUN("through_null", through_null, a->a, out);
  RUN("copies_too_much", copies_too_much, a->a, out);
  RUN("reads_past_shared", reads_past_shared, a->a, out);
  RUN("far_past_shared", far_past_shared, out);
  RUN("no_barrier", no_barrier, a->a, out);
  RUN("no_second_barrier", no_second_barrier, a->a, out);
  RUN("no_syncwarp", no_syncwarp, out);
  RUN("blocks_write_one_place", blocks_write_one_place, out);
  RUN("reads_what_another_block_writes", reads_what_another_block_writes, out);
  RUN("sums_without_atomics", sums_without_atomics, out);
  RUN("unwritten", unwritten, a->a, out);
  RUN("all_write_the_same", all_write_the_same, out);
  RUN("in_step", in_step, a->a, out);
  RUN("shuffles_order", shuffles_order, out);
  RUN("last_block_sums", last_block_sums, out, reinterpret_cast<int*>(out + 4000));
  RUN("waits_on_volatile", waits_on_volatile, out);
  return cudaGetLastError();
}
