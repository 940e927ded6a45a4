// SIMT kernels without CuTe. Each is called by its name.
#include "cutegen_args.h"

#include <cuda_fp16.h>
#include <cstdio>

#define FULL 0xffffffffu /* every lane */
#define LAUNCH(kernel, ...) kernel<<<grid, block, 0, a->stream>>>(__VA_ARGS__)

__constant__ float scale[2];

// Not a launch: kernel<<<1, 2>>>(x), and "neither<<<1, 2>>>(x)" is one.
char const* const kRaw = R"cu(__shared__ float nothing[3]; k<<<1, 2>>>();)cu";

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(FULL, v, offset);
  return v;
}

template <int WARPS>
__device__ float block_sum(float v) {
  __shared__ float partial[WARPS];
  v = warp_sum(v);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < WARPS ? partial[threadIdx.x] : 0.f;
  v = warp_sum(v);
  if (threadIdx.x == 0) partial[0] = v;
  __syncthreads();
  v = partial[0];
  __syncthreads();
  return v;
}

template <typename T, int VEC>
__global__ void __launch_bounds__(256) vector_scale(T const* __restrict__ a, T* out, int n) {
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) * VEC;
  if (i + VEC <= n) {
    float4 v = __ldcs(reinterpret_cast<float4 const*>(a + i));
    v.x *= scale[0]; v.y *= scale[0]; v.z *= scale[1]; v.w *= scale[1];
    __stcs(reinterpret_cast<float4*>(out + i), v);
  } else {
    for (int j = i; j < n; ++j) out[j] = a[j] * scale[(j - i) / 2];
  }
}

__global__ void row_sums(float const* a, float* out, int columns) {
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += a[blockIdx.x * columns + c];
  sum = block_sum<8>(sum);
  if (!threadIdx.x) out[blockIdx.x] = sum;
}

__global__ void transpose(float const* in, float* out, int rows, int columns) {
  extern __shared__ __align__(16) unsigned char storage[];
  float* tile = reinterpret_cast<float*>(storage);
  int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
  for (int j = 0; j < 32; j += 8)
    if (r + j < rows && c < columns) tile[(threadIdx.y + j) * 33 + threadIdx.x] = in[(r + j) * columns + c];
  __syncthreads();
  r = blockIdx.y * 32 + threadIdx.x;
  c = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (r < rows && c + j < columns) out[(c + j) * rows + r] = tile[threadIdx.x * 33 + threadIdx.y + j];
}

__global__ void histogram(float const* a, float* out, int n) {
  __shared__ int bins[16], total;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[min(15, max(0, int(a[i] * 16)))], 1);
    atomicAdd(&total, 1);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], float(bins[threadIdx.x]));
  if (threadIdx.x == 16) atomicAdd(&out[16], float(total));
}

__global__ void votes(float const* a, float* out) {
  int const lane = threadIdx.x;
  bool const positive = a[lane] > 0;
  unsigned const ballot = __ballot_sync(FULL, positive);
  float const results[] = {
      float(__popc(ballot)), float(__any_sync(FULL, a[lane] > 1e9f)), float(__all_sync(FULL, lane >= 0)),
      float(__syncthreads_count(lane < 7)), float(__syncthreads_and(lane < 31)), float(__syncthreads_or(lane == 5)),
      float(__reduce_max_sync(FULL, lane - 40)), float(__popc(__match_any_sync(FULL, lane / 4))),
  };
  if (lane == 3) for (int i = 0; i < 8; ++i) out[i] = results[i];
  out[8 + lane] = __shfl_up_sync(FULL, float(lane), 2, 8);
  out[40 + lane] = __shfl_down_sync(FULL, double(lane), 3, 16);
  out[72 + lane] = __shfl_sync(FULL, lane, 35);
  if (lane % 2) out[104 + lane] = float(__popc(__activemask()));
  else out[104 + lane] = __shfl_xor_sync(0x55555555u, float(lane), 2);
}

__global__ void softmax(float const* a, float* out, int columns) {
  extern __shared__ float row[];
  __shared__ struct { float maximum; float sum; } found;
  float largest = -INFINITY;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = __ldg(a + blockIdx.x * columns + c);
    largest = fmaxf(largest, row[c]);
  }
  for (int offset = 16; offset; offset /= 2) largest = fmaxf(largest, __shfl_down_sync(FULL, largest, offset));
  __shared__ float partial[4];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) found.maximum = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = __expf(row[c] - found.maximum);
  sum = block_sum<4>(sum);
  if (threadIdx.x == 0) found.sum = sum;
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = __fdividef(row[c], found.sum);
}

// Between the write and the read a barrier is missing.
__global__ void unsynchronized(float const* a, float* out) {
  __shared__ float s[256];
  int const t = threadIdx.x;
  s[t] = a[t];
  out[t] = s[t ? t - 1 : 0];
}

__global__ void handshake(float const* a, float* out) {
  int const t = threadIdx.x;
  __shared__ int turn;
  if (t == 0) turn = 0;
  __syncthreads();
  while (atomicAdd(&turn, 0) != t) __nanosleep(20);
  out[t] = a[t];
  __threadfence_block();
  atomicExch(&turn, t + 1);
}

__global__ void intrinsics(float const* a, float* out) {
  float const x = a[0];
  unsigned long long big = 1ull << 40;
  float const results[] = {
      rsqrtf(x), __frcp_rn(x), __saturatef(x), erff(x), tanhf(x), log1pf(x), __fmaf_rn(x, x, 1.f),
      float(__clz(1 << 20)), float(__ffs(8)), float(__brev(1u) >> 31), float(__byte_perm(0x33221100, 0x77665544, 0x7410)),
      float(__umulhi(1u << 31, 6u)), max(x, 2.f), float(min(3, 2u)), __int_as_float(__float_as_int(x)),
      float(__float2int_rn(2.5f)), float(__float2uint_rz(-3.f)), __half2float(__float2half(x)), float(__hfma2(__float2half2_rn(x), __float2half2_rn(2.f), __float2half2_rn(1.f)).y),
      float(__float2int_rz(3e9f) == 2147483647), float(__popcll(big - 1)), exp(x) - expf(x), float(1e-8f + 1.f == 1.f), normcdff(x),
  };
  for (unsigned i = 0; i < sizeof(results) / sizeof(float); ++i) out[i] = results[i];
  if (threadIdx.x == 0) printf("kernel says %d %s\n", 42, "hello");
}

__global__ void deadlock(float* out) {
  if (threadIdx.x < 16) __syncthreads();
  else out[threadIdx.x] = __shfl_sync(FULL, 1.f, 20);
}

// A barrier in one branch only: whoever takes the other stands at the next one meanwhile.
__global__ void two_barriers(float* out) {
  if (threadIdx.x < 32) __syncthreads();
  out[threadIdx.x] = 1;
  __syncthreads();
}

__global__ void early_return(float* out, int n) {
  if (threadIdx.x >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void own_lane(float* out) {
  out[threadIdx.x] = __shfl_sync(0xffffu, 1.f, 0);
}

__global__ void livelock(float* out) {
  __shared__ int open;
  if (threadIdx.x == 0) open = 0;
  __syncthreads();
  while (atomicCAS(&open, 1, 0) != 1) __nanosleep(10);
  out[threadIdx.x] = 1;
}

// Every block waits for all others, so all of them must run at a time.
__global__ void grid_barrier(float* out, int blocks) {
  int* arrived = reinterpret_cast<int*>(out + blocks);
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < blocks) {}
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

__global__ void overrun(float* out) {
  __shared__ float s[30];
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}

__global__ void misaligned(float const* a, float* out) {
  reinterpret_cast<float4*>(out + 1)[threadIdx.x] = *reinterpret_cast<float4 const*>(a);
}

__global__ void absent_lane(float* out) {
  out[threadIdx.x] = __shfl_down_sync(FULL, 1.f, 16);
}

__global__ void too_much_static(float* out) {
  __shared__ float s[57 * 1024];
  s[threadIdx.x] = 1;
}

__global__ void idle(float* out) {}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  dim3 grid(a->grid), block(a->block);
  if (a->calls("vector_scale")) {
    float const host[2] = {2.f, 3.f};
    cudaMemcpyToSymbolAsync(scale, host, sizeof(host), 0, cudaMemcpyHostToDevice, a->stream);
    vector_scale<float, 4><<<(a->n / 4 + 255) / 256 + 1, dim3{256, 1, 1}, 0, a->stream>>>(a->a, a->out, a->n);
  }
  if (a->calls("row_sums")) LAUNCH(row_sums, a->a, a->out, a->n);
  if (a->calls("transpose"))
    transpose<<<dim3((a->n + 31) / 32, (a->m + 31) / 32), {32, 8}, 32 * 33 * sizeof(float),
                a->stream>>>(a->a, a->out,  // rows first
                             a->m, a->n);
  if (a->calls("histogram")) LAUNCH(histogram, a->a, a->out, a->n);
  if (a->calls("votes")) votes<<<1, 32>>>(a->a, a->out);
  if (a->calls("softmax")) softmax<<<grid, 128, a->n * sizeof(float), a->stream>>>(a->a, a->out, a->n);
  if (a->calls("unsynchronized")) LAUNCH(unsynchronized, a->a, a->out);
  if (a->calls("handshake")) LAUNCH(handshake, a->a, a->out);
  if (a->calls("intrinsics")) (intrinsics<<<1, 1>>>(a->a, a->out));
  if (a->calls("deadlock")) LAUNCH(deadlock, a->out);
  if (a->calls("two_barriers")) LAUNCH(two_barriers, a->out);
  if (a->calls("early_return")) LAUNCH(early_return, a->out, a->n);
  if (a->calls("own_lane")) LAUNCH(own_lane, a->out);
  if (a->calls("livelock")) LAUNCH(livelock, a->out);
  if (a->calls("grid_barrier")) LAUNCH(grid_barrier, a->out, grid.x);
  if (a->calls("overrun")) LAUNCH(overrun, a->out);
  if (a->calls("misaligned")) LAUNCH(misaligned, a->a, a->out);
  if (a->calls("absent_lane")) LAUNCH(absent_lane, a->out);
  if (a->calls("too_much_static")) too_much_static<<<1, 32, a->n, a->stream>>>(a->out);
  if (a->calls("too_wide")) vector_scale<float, 4><<<1, 512>>>(a->a, a->out, a->n);
  if (a->calls("idle")) idle<<<grid, block, a->n, a->stream>>>(a->out);
  if (a->calls("idle_with_permission")) {
    cudaError_t const refused = cudaFuncSetAttribute(idle, cudaFuncAttributeMaxDynamicSharedMemorySize, a->n);
    if (refused != cudaSuccess) return refused;
    idle<<<grid, block, a->n, a->stream>>>(a->out);
  }
  return cudaGetLastError();
}
