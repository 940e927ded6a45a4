// playbook: matmul {"block_k": 16, "block_m": 128, "block_n": 128, "prefetch": false, "registers": false, "tile": 16, "tiled": false}
// 1_Square_matrix_multiplication_: C(m, n) = sum over k of A(m, k) * B(n, k), with everything after it in the epilogue.
#include "cutegen_args.h"

#include <climits>

#include <cute/tensor.hpp>

using namespace cute;

using T = float;  // the type of the arithmetic
using ElementA = float;
using ElementB = float;

constexpr int kTile = 16;  // outputs per block along M and along N

// Everything between loads and stores, for one element.
struct Chain {
  CUTE_HOST_DEVICE void operator()(T acc, float& out) const {
    out = float(acc);
  }
};

struct Problem {
  int M, N, K, L;
};

__host__ __device__ inline Problem problem_of(CutegenArgs const& a) {
  return {int(a.A_shape[0]), int(a.B_shape[1]), int(a.A_shape[1]), int(1)};
}

__global__ void __launch_bounds__(kTile * kTile) multiply(CutegenArgs const a, Chain const chain) {
  auto const [M, N, K, L] = problem_of(a);
  int const l = blockIdx.z;
  Tensor mA = make_tensor(make_gmem_ptr(a.A + int64_t(l) * M * K), make_shape(M, K),
      make_stride(int64_t(K), Int<1>{}));  // (M,K)
  Tensor mB = make_tensor(make_gmem_ptr(a.B), make_shape(N, K),
      make_stride(Int<1>{}, int64_t(N)));  // (N,K)

  int const m = blockIdx.y * kTile + threadIdx.y;
  int const n = blockIdx.x * kTile + threadIdx.x;
  if (m >= M || n >= N) return;
  T sum = T(0);
  for (int k = 0; k < K; ++k) sum += T(mA(m, k)) * T(mB(n, k));
  int64_t const at = (int64_t(l) * M + m) * N + n;
  chain(sum, a.out[at]);
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  if (a->A_shape[0] > INT_MAX || a->B_shape[1] > INT_MAX || a->A_shape[1] > INT_MAX) {
    return cudaErrorNotSupported;
  }
  auto const [M, N, K, L] = problem_of(*a);
  if (M == 0 || N == 0 || L == 0) return cudaSuccess;
  int const blocks_m = (M + kTile - 1) / kTile, blocks_n = (N + kTile - 1) / kTile;
  if (blocks_m > 65535 || L > 65535) return cudaErrorNotSupported;  // the limits of gridDim.y and .z
  Chain const chain{};
  multiply<<<dim3(blocks_n, blocks_m, L), dim3(kTile, kTile), 0, a->stream>>>(*a, chain);
  return cudaGetLastError();
}
