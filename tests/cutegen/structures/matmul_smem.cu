#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;
constexpr int kTile = 32;

__global__ void matmul(float const* A, float const* B, float* C, int M, int N, int K) {
  __shared__ float a_storage[kTile * kTile];
  __shared__ float b_storage[kTile * kTile];
  Tensor sA = make_tensor(make_smem_ptr(a_storage), make_shape(Int<kTile>{}, Int<kTile>{}));
  Tensor sB = make_tensor(make_smem_ptr(b_storage), make_shape(Int<kTile>{}, Int<kTile>{}));
  int m = blockIdx.y * kTile + threadIdx.y, n = blockIdx.x * kTile + threadIdx.x;
  float acc = 0.f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    sA(threadIdx.y, threadIdx.x) = m < M && k0 + threadIdx.x < K ? A[m * K + k0 + threadIdx.x] : 0.f;
    sB(threadIdx.y, threadIdx.x) = n < N && k0 + threadIdx.y < K ? B[(k0 + threadIdx.y) * N + n] : 0.f;
    __syncthreads();
    CUTE_UNROLL
    for (int k = 0; k < kTile; ++k) acc += sA(threadIdx.y, k) * sB(k, threadIdx.x);
    __syncthreads();
  }
  if (m < M && n < N) C[m * N + n] = acc;
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int M = a->A_shape[0], K = a->A_shape[1], N = a->B_shape[1];
  matmul<<<dim3((N + kTile - 1) / kTile, (M + kTile - 1) / kTile), dim3(kTile, kTile), 0, a->stream>>>(
      a->A, a->B, a->out, M, N, K);
  return cudaGetLastError();
}
