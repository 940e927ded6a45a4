// playbook: matmul {"block_k": 16, "block_m": 128, "block_n": 128, "prefetch": false, "registers": false, "tile": 16, "tiled": true}
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

  // the odd stride keeps a column of a tile off one bank
  using TileLayout = Layout<Shape<Int<kTile>, Int<kTile>>, Stride<Int<kTile + 1>, _1>>;
  __shared__ T shared_a[cosize_v<TileLayout>];
  __shared__ T shared_b[cosize_v<TileLayout>];
  Tensor sA = make_tensor(make_smem_ptr(shared_a), TileLayout{});  // (m,k)
  Tensor sB = make_tensor(make_smem_ptr(shared_b), TileLayout{});  // (n,k)
  int const m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile;
  // threadIdx.x runs along the contiguous dimension of each factor
  int const am = threadIdx.y, ak = threadIdx.x;
  int const bn = threadIdx.x, bk = threadIdx.y;
  T sum = T(0);
  for (int k0 = 0; k0 < K; k0 += kTile) {
    sA(am, ak) = m0 + am < M && k0 + ak < K ? T(mA(m0 + am, k0 + ak)) : T(0);
    sB(bn, bk) = n0 + bn < N && k0 + bk < K ? T(mB(n0 + bn, k0 + bk)) : T(0);
    __syncthreads();
    CUTE_UNROLL
    for (int k = 0; k < kTile; ++k) sum += sA(threadIdx.y, k) * sB(threadIdx.x, k);
    __syncthreads();
  }
  int const m = m0 + threadIdx.y, n = n0 + threadIdx.x;
  if (m >= M || n >= N) return;
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
