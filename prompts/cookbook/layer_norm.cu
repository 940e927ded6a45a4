// IDEA: mean and variance in one reading, by Welford's update and Chan's merge: no difference of
//       large sums, so it is as exact as two passes. Triples (count, mean, m2) go up the tree.
// FOR: reduction
// ARCH: sm_80
// INTENT: layer norm, variance, welford, normalization, fused affine
#include "cutegen_args.h"

#include <cute/tensor.hpp>

using namespace cute;

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr float kEpsilon = 1e-5f;

struct Moments {
  float count, mean, m2;  // m2: the sum of squared distances from the mean
};

__device__ Moments merged(Moments a, Moments b) {
  float const count = a.count + b.count;
  if (count == 0.0f) return a;
  float const apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.m2 + b.m2 + apart * apart * a.count * share};
}

__device__ Moments warp_merged(Moments moments) {
  CUTE_UNROLL
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    Moments const other{__shfl_down_sync(0xffffffffu, moments.count, offset),
                        __shfl_down_sync(0xffffffffu, moments.mean, offset),
                        __shfl_down_sync(0xffffffffu, moments.m2, offset)};
    moments = merged(moments, other);  // right in lane 0, which alone is read
  }
  return moments;
}

__global__ void __launch_bounds__(kThreads)
    layer_norm(float const* x, float const* weight, float const* bias, float* out, int m, int n) {
  __shared__ Moments partial[kWarps];
  auto layout = make_layout(make_shape(m, n), make_stride(n, Int<1>{}));
  Tensor gX = make_tensor(make_gmem_ptr(x), layout)(blockIdx.x, _);
  Tensor gO = make_tensor(make_gmem_ptr(out), layout)(blockIdx.x, _);
  Moments own{0.0f, 0.0f, 0.0f};
  for (int i = threadIdx.x; i < n; i += kThreads) {
    float const value = gX(i), before = value - own.mean;
    own.count += 1.0f;
    own.mean += before / own.count;
    own.m2 += before * (value - own.mean);
  }
  own = warp_merged(own);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = own;
  __syncthreads();
  Moments all = partial[0];
  CUTE_UNROLL
  for (int warp = 1; warp < kWarps; ++warp) all = merged(all, partial[warp]);
  float const scale = rsqrtf(all.m2 / float(n) + kEpsilon);
  for (int i = threadIdx.x; i < n; i += kThreads) {  // from L2, a moment after the first reading
    gO(i) = (gX(i) - all.mean) * scale * weight[i] + bias[i];
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const m = int(a->x_shape[0]), n = int(a->x_shape[1]);
  layer_norm<<<m, kThreads, 0, a->stream>>>(a->x, a->weight, a->bias, a->out, m, n);
  return cudaGetLastError();
}
