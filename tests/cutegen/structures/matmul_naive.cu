#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;
using BM = Int<16>;
using BN = Int<16>;

__global__ void matmul(float const* A, float const* B, float* C, int M, int N, int K) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(M, K), LayoutRight{});
  Tensor gB = make_tensor(make_gmem_ptr(B), make_shape(K, N), LayoutRight{});
  Tensor gC = make_tensor(make_gmem_ptr(C), make_shape(M, N), LayoutRight{});
  int m = blockIdx.y * BM{} + threadIdx.y, n = blockIdx.x * BN{} + threadIdx.x;
  if (m >= M || n >= N) return;
  float acc = 0.f;
  for (int k = 0; k < K; ++k) acc += gA(m, k) * gB(k, n);
  gC(m, n) = acc;
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int M = a->A_shape[0], K = a->A_shape[1], N = a->B_shape[1];
  dim3 block(BN{}, BM{});
  dim3 grid((N + BN{} - 1) / BN{}, (M + BM{} - 1) / BM{});
  matmul<<<grid, block, 0, a->stream>>>(a->A, a->B, a->out, M, N, K);
  return cudaGetLastError();
}
