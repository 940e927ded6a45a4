// SIMT kernels: reductions, scans, transposes, sorting, atomics, votes, packed arithmetic.
#include "cutegen_args.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define FULL 0xffffffffu

__device__ inline float warp_sum(float v) {
  for (int offset = 16; offset; offset /= 2) v += __shfl_xor_sync(FULL, v, offset);
  return v;
}

namespace shuffle_sum {  // one warp a row, a tree of shuffles
__global__ void kernel(float const* a, float* out, int rows, int columns) {
  int const row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += a[row * columns + c];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(FULL, sum, offset);
  if (lane == 0) out[row] = sum;
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0];
  kernel<<<(rows + 3) / 4, 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), rows, a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace shuffle_sum

namespace block_sum {  // one block a row: warps, then the sums of the warps
__global__ void kernel(float const* a, float* out, int columns) {
  __shared__ float partial[8];
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += 256) sum += a[blockIdx.x * columns + c];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0.f;
    sum = warp_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 256, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace block_sum

namespace two_pass_sum {  // partial sums of the grid, then one block
__global__ void partial_sums(float const* a, float* partial, int n) {
  __shared__ float sums[128];
  float sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += a[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}
__global__ void last_sum(float const* partial, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += partial[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}
cudaError_t launch(CutegenArgs const* a) {
  float* partial = static_cast<float*>(a->workspace);
  partial_sums<<<40, 128, 0, a->stream>>>(a->in_a<float>(), partial, a->a_shape[0] * a->a_shape[1]);
  last_sum<<<1, 32, 0, a->stream>>>(partial, a->to<float>(), 40);
  return cudaGetLastError();
}
}  // namespace two_pass_sum

namespace atomic_histogram {  // private bins in shared memory, then global atomics
__global__ void clear(int* out) { out[threadIdx.x] = 0; }
__global__ void kernel(int const* a, int* out, int n) {
  __shared__ int bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[a[i]], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
cudaError_t launch(CutegenArgs const* a) {
  clear<<<1, 64, 0, a->stream>>>(a->to<int>());
  kernel<<<6, 96, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[0] * a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace atomic_histogram

namespace atomic_extrema {  // row 0 the largest of each column, row 1 the least
__global__ void start(int* out, int columns) {
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[c] = -2147483647 - 1;
    out[columns + c] = 2147483647;
  }
}
__global__ void kernel(int const* a, int* out, int columns) {
  int const c = blockIdx.x * 32 + threadIdx.x;
  if (c >= columns) return;
  int const value = a[(blockIdx.y * 8 + threadIdx.y) * columns + c];
  atomicMax(&out[c], value);
  atomicMin(&out[columns + c], value);
}
cudaError_t launch(CutegenArgs const* a) {
  int const columns = a->a_shape[1];
  start<<<1, 128, 0, a->stream>>>(a->to<int>(), columns);
  kernel<<<dim3((columns + 31) / 32, a->a_shape[0] / 8), dim3(32, 8), 0, a->stream>>>(a->in_a<int>(), a->to<int>(), columns);
  return cudaGetLastError();
}
}  // namespace atomic_extrema

namespace online_softmax {  // maximum and sum in one sweep, merged pairwise
struct State {
  float top, sum;
};
__device__ State merge(State x, State y) {
  float const top = fmaxf(x.top, y.top);
  if (top == -INFINITY) return {top, 0.f};
  return {top, x.sum * expf(x.top - top) + y.sum * expf(y.top - top)};
}
__device__ State warp_merge(State s) {
  for (int offset = 16; offset; offset /= 2)
    s = merge(s, {__shfl_xor_sync(FULL, s.top, offset), __shfl_xor_sync(FULL, s.sum, offset)});
  return s;
}
__global__ void kernel(float const* a, float* out, int columns) {
  __shared__ State partial[4];
  float const* row = a + blockIdx.x * columns;
  State s{-INFINITY, 0.f};
  for (int c = threadIdx.x; c < columns; c += 128) s = merge(s, {row[c], 1.f});
  s = warp_merge(s);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = s;
  __syncthreads();
  s = merge(merge(partial[0], partial[1]), merge(partial[2], partial[3]));
  for (int c = threadIdx.x; c < columns; c += 128) out[blockIdx.x * columns + c] = expf(row[c] - s.top) / s.sum;
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace online_softmax

namespace layernorm {  // mean, then variance about it, then scale by b
__device__ float block_sum(float v) {
  __shared__ float partial[4];
  __shared__ float total;
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) total = partial[0] + partial[1] + partial[2] + partial[3];
  __syncthreads();
  return total;
}
__global__ void kernel(float const* a, float const* scale, float* out, int columns) {
  extern __shared__ float row[];
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += 128) sum += row[c] = a[blockIdx.x * columns + c];
  float const mean = block_sum(sum) / columns;
  for (int c = threadIdx.x; c < columns; c += 128) squares += (row[c] - mean) * (row[c] - mean);
  float const factor = rsqrtf(block_sum(squares) / columns + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += 128) out[blockIdx.x * columns + c] = (row[c] - mean) * factor * scale[c];
}
cudaError_t launch(CutegenArgs const* a) {
  int const columns = a->a_shape[1];
  kernel<<<a->a_shape[0], 128, columns * sizeof(float), a->stream>>>(a->in_a<float>(), a->in_b<float>(), a->to<float>(), columns);
  return cudaGetLastError();
}
}  // namespace layernorm

namespace inclusive_scan {  // rows of 1024: four a thread, warps by shuffles, then warp totals
__global__ void kernel(int4 const* a, int4* out) {
  __shared__ int totals[8];
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int4 v = a[blockIdx.x * 256 + threadIdx.x];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  int sum = v.w;
  for (int offset = 1; offset < 32; offset *= 2) {
    int const below = __shfl_up_sync(FULL, sum, offset);
    if (lane >= offset) sum += below;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  int before = sum - v.w;
  for (int w = 0; w < warp; ++w) before += totals[w];
  out[blockIdx.x * 256 + threadIdx.x] = make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 256, 0, a->stream>>>(a->in_a<int4>(), a->to<int4>());
  return cudaGetLastError();
}
}  // namespace inclusive_scan

namespace exclusive_scan {  // Hillis and Steele on two buffers of shared memory
__global__ void kernel(int const* a, int* out, int n) {
  extern __shared__ int buffers[];
  int *now = buffers, *next = buffers + n;
  int const i = threadIdx.x;
  now[i] = i > 0 ? a[blockIdx.x * n + i - 1] : 0;
  __syncthreads();
  for (int reach = 1; reach < n; reach *= 2) {
    next[i] = now[i] + (i >= reach ? now[i - reach] : 0);
    __syncthreads();
    int* swap = now;
    now = next;
    next = swap;
  }
  out[blockIdx.x * n + i] = now[i];
}
cudaError_t launch(CutegenArgs const* a) {
  int const n = a->a_shape[1];
  kernel<<<a->a_shape[0], n, 2 * n * sizeof(int), a->stream>>>(a->in_a<int>(), a->to<int>(), n);
  return cudaGetLastError();
}
}  // namespace exclusive_scan

namespace transpose_static {  // 32 x 32 tiles with a padded row
__global__ void kernel(float const* a, float* out, int rows, int columns) {
  __shared__ float tile[32][33];
  int const r = blockIdx.y * 32, c = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (r + j < rows && c + threadIdx.x < columns) tile[j][threadIdx.x] = a[(r + j) * columns + c + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8)
    if (c + j < columns && r + threadIdx.x < rows) out[(c + j) * rows + r + threadIdx.x] = tile[threadIdx.x][j];
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  kernel<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, a->stream>>>(a->in_a<float>(), a->to<float>(), rows, columns);
  return cudaGetLastError();
}
}  // namespace transpose_static

namespace transpose_dynamic {  // 16-bit elements in pairs, XOR-swizzled dynamic shared memory
__global__ void kernel(ushort2 const* a, unsigned short* out, int rows, int columns) {
  extern __shared__ __align__(16) unsigned char storage[];
  unsigned short* tile = reinterpret_cast<unsigned short*>(storage);
  int const r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64 * 32; i += 128) {
    int const r = i / 32, c = i % 32 * 2;
    ushort2 const pair = a[((r0 + r) * columns + c0 + c) / 2];
    tile[r * 64 + (c ^ (r & 31) * 2)] = pair.x;
    tile[r * 64 + (c ^ (r & 31) * 2) + 1] = pair.y;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    int const c = i / 64, r = i % 64;
    out[(c0 + c) * rows + r0 + r] = tile[r * 64 + ((c & ~1) ^ (r & 31) * 2) + (c & 1)];
  }
}
cudaError_t launch(CutegenArgs const* a) {
  int const rows = a->a_shape[0], columns = a->a_shape[1];
  kernel<<<dim3(columns / 64, rows / 64), 128, 64 * 64 * 2, a->stream>>>(a->in_a<ushort2>(), a->to<unsigned short>(), rows, columns);
  return cudaGetLastError();
}
}  // namespace transpose_dynamic

namespace compaction {  // positive numbers of each row to the front, by votes; zeros behind
__global__ void kernel(int const* a, int* out, int columns) {
  int const lane = threadIdx.x;
  int kept = 0;
  for (int start = 0; start < columns; start += 32) {
    int const value = start + lane < columns ? a[blockIdx.x * columns + start + lane] : 0;
    unsigned const votes = __ballot_sync(FULL, value > 0);
    int const rank = __popc(votes & ((1u << lane) - 1));
    if (value > 0) out[blockIdx.x * columns + kept + rank] = value;
    kept += __popc(votes);
  }
  for (int c = kept + lane; c < columns; c += 32) out[blockIdx.x * columns + c] = 0;
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 32, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace compaction

namespace vector_scale {  // four at a time, and the tail one by one
__global__ void kernel(float const* a, float* out, int n) {
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 4 <= n) {
    float4 v = *reinterpret_cast<float4 const*>(a + i);
    *reinterpret_cast<float4*>(out + i) = make_float4(v.x * 0.5f, v.y * 0.5f, v.z * 0.5f, v.w * 0.5f);
  } else {
    for (int j = i; j < n; ++j) out[j] = a[j] * 0.5f;
  }
}
cudaError_t launch(CutegenArgs const* a) {
  int const n = a->a_shape[0] * a->a_shape[1];
  kernel<<<(n + 511) / 512, 128, 0, a->stream>>>(a->in_a<float>(), a->to<float>(), n);
  return cudaGetLastError();
}
}  // namespace vector_scale

namespace half2_fma {  // a * b + a in pairs, rounded once
__global__ void kernel(__half2 const* a, __half2 const* b, __half2* out, int pairs) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) out[i] = __hfma2(a[i], b[i], a[i]);
}
cudaError_t launch(CutegenArgs const* a) {
  int const pairs = a->a_shape[0] * a->a_shape[1] / 2;
  kernel<<<(pairs + 127) / 128, 128, 0, a->stream>>>(a->in_a<__half2>(), a->in_b<__half2>(), a->to<__half2>(), pairs);
  return cudaGetLastError();
}
}  // namespace half2_fma

namespace to_bfloat16 {  // rounding to the nearest, ties to even
__global__ void kernel(float const* a, __nv_bfloat16* out, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2bfloat16(a[i]);
}
cudaError_t launch(CutegenArgs const* a) {
  int const n = a->a_shape[0] * a->a_shape[1];
  kernel<<<(n + 127) / 128, 128, 0, a->stream>>>(a->in_a<float>(), a->to<__nv_bfloat16>(), n);
  return cudaGetLastError();
}
}  // namespace to_bfloat16

namespace argmax {  // the first column of the largest value; one warp a row
__global__ void kernel(float const* a, int* out, int columns) {
  int const lane = threadIdx.x;
  float top = -INFINITY;
  int where = columns;
  for (int c = lane; c < columns; c += 32) {
    float const value = a[blockIdx.x * columns + c];
    if (value > top) top = value, where = c;
  }
  for (int offset = 16; offset; offset /= 2) {
    float const other = __shfl_down_sync(FULL, top, offset);
    int const there = __shfl_down_sync(FULL, where, offset);
    if (other > top || (other == top && there < where)) top = other, where = there;
  }
  if (lane == 0) out[blockIdx.x] = where;
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 32, 0, a->stream>>>(a->in_a<float>(), a->to<int>(), a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace argmax

namespace stencil {  // sums of five neighbours, halo in shared memory, zeros outside
__global__ void kernel(int const* a, int* out, int n) {
  __shared__ int tile[128 + 4];
  int const first = blockIdx.x * 128 - 2;
  for (int i = threadIdx.x; i < 132; i += 128) tile[i] = first + i >= 0 && first + i < n ? a[first + i] : 0;
  __syncthreads();
  int const i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < 5; ++k) sum += tile[threadIdx.x + k];
  out[i] = sum;
}
cudaError_t launch(CutegenArgs const* a) {
  int const n = a->a_shape[1];
  kernel<<<(n + 127) / 128, 128, 0, a->stream>>>(a->in_a<int>(), a->to<int>(), n);
  return cudaGetLastError();
}
}  // namespace stencil

namespace dot_double {  // one block, double precision
__global__ void kernel(double const* a, double const* b, double* out, int n) {
  __shared__ double sums[256];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum = fma(a[i], b[i], sum);
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = sums[0];
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 256, 0, a->stream>>>(a->in_a<double>(), a->in_b<double>(), a->to<double>(), a->a_shape[0] * a->a_shape[1]);
  return cudaGetLastError();
}
}  // namespace dot_double

namespace bitonic_sort {  // rows of 512 in shared memory
__global__ void kernel(int const* a, int* out) {
  __shared__ int keys[512];
  for (int i = threadIdx.x; i < 512; i += 256) keys[i] = a[blockIdx.x * 512 + i];
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride; stride /= 2) {
      __syncthreads();
      int const low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      bool const up = (low & size) == 0;
      int const x = keys[low], y = keys[low + stride];
      if ((x > y) == up) keys[low] = y, keys[low + stride] = x;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 256) out[blockIdx.x * 512 + i] = keys[i];
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<a->a_shape[0], 256, 0, a->stream>>>(a->in_a<int>(), a->to<int>());
  return cudaGetLastError();
}
}  // namespace bitonic_sort

namespace int_matmul {  // C = A B in tiles of 16 x 16, tails filled with zeros
__global__ void kernel(int const* a, int const* b, int* out, int m, int n, int k) {
  __shared__ int tile_a[16][16], tile_b[16][16];
  int const x = threadIdx.x, y = threadIdx.y;
  int const row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  int sum = 0;
  for (int start = 0; start < k; start += 16) {
    tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0;
    tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) out[row * n + column] = sum;
}
cudaError_t launch(CutegenArgs const* a) {
  int const m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[1];
  kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, a->stream>>>(a->in_a<int>(), a->in_b<int>(), a->to<int>(), m, n, k);
  return cudaGetLastError();
}
}  // namespace int_matmul

namespace warp_transpose {  // 32 x 32 through registers: five exchanges of halves
__global__ void kernel(int const* a, int* out) {
  int const lane = threadIdx.x;
  int v[32];
  for (int r = 0; r < 32; ++r) v[r] = a[r * 32 + lane];
#pragma unroll
  for (int bit = 1; bit < 32; bit *= 2) {
#pragma unroll
    for (int r = 0; r < 32; ++r) {
      if (r & bit) continue;
      int const sent = lane & bit ? v[r] : v[r | bit];
      int const got = __shfl_xor_sync(FULL, sent, bit);
      if (lane & bit) v[r] = got;
      else v[r | bit] = got;
    }
  }
  for (int r = 0; r < 32; ++r) out[r * 32 + lane] = v[r];
}
cudaError_t launch(CutegenArgs const* a) {
  kernel<<<1, 32, 0, a->stream>>>(a->in_a<int>(), a->to<int>());
  return cudaGetLastError();
}
}  // namespace warp_transpose
