#include "cutegen_args.h"
#include <cute/tensor.hpp>
using namespace cute;
using BM = _128;
using BN = _128;
using BK = Int<8>;

__global__ void __launch_bounds__(256, 2) matmul(float const* A, float const* B, float* C, int M, int N, int K) {
  __shared__ alignas(16) float a_storage[BM{} * BK{}];
  __shared__ alignas(16) float b_storage[BN{} * BK{}];
  Tensor sA = make_tensor(make_smem_ptr(a_storage), make_shape(BM{}, BK{}));
  Tensor sB = make_tensor(make_smem_ptr(b_storage), make_shape(BN{}, BK{}));
  Tensor acc = make_tensor<float>(Shape<_8, _8>{});
  clear(acc);
  Copy_Atom<UniversalCopy<uint128_t>, float> atom;
  for (int k0 = 0; k0 < K; k0 += BK{}) {
    copy(atom, make_tensor(make_gmem_ptr(A + k0), Layout<_4>{}), sA(_, 0));
    copy(atom, make_tensor(make_gmem_ptr(B + k0), Layout<_4>{}), sB(_, 0));
    __syncthreads();
    for (int k = 0; k < BK{}; ++k) {
      float ra[8], rb[8];
      CUTE_UNROLL
      for (int i = 0; i < 8; ++i) { ra[i] = sA(i, k); rb[i] = sB(i, k); }
      CUTE_UNROLL
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) acc(i, j) += ra[i] * rb[j];
    }
    __syncthreads();
  }
  C[threadIdx.x] = acc(0, 0);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  matmul<<<dim3(1, 1), 256, 0, a->stream>>>(a->A, a->B, a->out, 1, 1, 1);
  return cudaGetLastError();
}
