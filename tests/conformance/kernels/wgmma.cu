// Warp-group products from shared memory, for every major, swizzle and type.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>

#include "cutegen_args.h"

using namespace cute;

// C[64 x N] = A[M,K] B[N,K]^T, a block per 64 x N; operands are stored element by element.
template <class Mma, class LayoutA, class LayoutB, bool kFromRegisters, class T, class TC>
__global__ void __launch_bounds__(128) tile_product(T const* A, T const* B, TC* C, int N, int K) {
  constexpr int BM = decltype(size<0>(LayoutA{}))::value;
  constexpr int BN = decltype(size<0>(LayoutB{}))::value;
  constexpr int BK = decltype(size<1>(LayoutA{}))::value;
  __shared__ alignas(1024) T storage_a[cosize_v<LayoutA>];
  __shared__ alignas(1024) T storage_b[cosize_v<LayoutB>];
  Tensor sA = make_tensor(make_smem_ptr(storage_a), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(storage_b), LayoutB{});
  Mma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor gC = make_tensor(make_gmem_ptr(C + blockIdx.y * BM * N + blockIdx.x * BN), Shape<Int<BM>, Int<BN>>{}, make_stride(N, _1{}));
  Tensor tCgC = thread.partition_C(gC);
  Tensor tCrC = thread.make_fragment_C(tCgC);
  Tensor tCsB = thread.partition_B(sB);
  Tensor tCrB = thread.make_fragment_B(tCsB);
  Tensor tCsA = thread.partition_A(sA);
  mma.accumulate_ = GMMA::ScaleOut::Zero;
  for (int start = 0; start < K; start += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += 128)
      sA(i / BK, i % BK) = A[(blockIdx.y * BM + i / BK) * K + start + i % BK];
    for (int i = threadIdx.x; i < BN * BK; i += 128)
      sB(i / BK, i % BK) = B[(blockIdx.x * BN + i / BK) * K + start + i % BK];
    cutlass::arch::fence_view_async_shared();
    __syncthreads();
    if constexpr (kFromRegisters) {
      Tensor tCrA = thread.partition_fragment_A(sA);
      copy(tCsA, tCrA);
      warpgroup_fence_operand(tCrA);
      warpgroup_arrive();
      for (int k = 0; k < size<2>(tCrA); ++k) {
        gemm(mma, tCrA(_, _, k), tCrB(_, _, k), tCrC);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      warpgroup_fence_operand(tCrA);
    } else {
      Tensor tCrA = thread.make_fragment_A(tCsA);
      warpgroup_fence_operand(tCrC);
      warpgroup_arrive();
      for (int k = 0; k < size<2>(tCrA); ++k) {
        gemm(mma, tCrA(_, _, k), tCrB(_, _, k), tCrC);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      warpgroup_fence_operand(tCrC);
    }
    __syncthreads();
  }
  copy(tCrC, tCgC);
}

// `AtomA` and `AtomB` are layouts of CuTe's GMMA namespace; tiles are 64 x BK and BN x BK.
template <class Op, class AtomA, class AtomB, int BN, int BK, class T, class TC, bool kFromRegisters = false>
cudaError_t run(CutegenArgs const* a) {
  int const m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[0];
  using Mma = decltype(make_tiled_mma(Op{}));
  using LayoutA = decltype(tile_to_shape(AtomA{}, Shape<_64, Int<BK>>{}));
  using LayoutB = decltype(tile_to_shape(AtomB{}, Shape<Int<BN>, Int<BK>>{}));
  tile_product<Mma, LayoutA, LayoutB, kFromRegisters, T, TC><<<dim3(n / BN, m / 64), 128, 0, a->stream>>>(a->in_a<T>(), a->in_b<T>(), a->to<TC>(), n, k);
  return cudaGetLastError();
}

using GMMA::Major;

namespace wgmma_f16_kk_128 {  // both K-major with 128-byte swizzle
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_K_SW128_Atom<half_t>;
  return run<SM90_64x64x16_F32F16F16_SS<Major::K, Major::K>, S, S, 64, 64, half_t, float>(a);
}
}  // namespace wgmma_f16_kk_128

namespace wgmma_f16_mn_mn_128 {  // both MN-major with 128-byte swizzle
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_MN_SW128_Atom<half_t>;
  return run<SM90_64x64x16_F32F16F16_SS<Major::MN, Major::MN>, S, S, 64, 32, half_t, float>(a);
}
}  // namespace wgmma_f16_mn_mn_128

namespace wgmma_bf16_k64_mn32 {  // K-major with 64 bytes by MN-major with 32
cudaError_t launch(CutegenArgs const* a) {
  return run<SM90_64x32x16_F32BF16BF16_SS<Major::K, Major::MN>, GMMA::Layout_K_SW64_Atom<bfloat16_t>, GMMA::Layout_MN_SW32_Atom<bfloat16_t>, 32, 32, bfloat16_t, float>(a);
}
}  // namespace wgmma_bf16_k64_mn32

namespace wgmma_bf16_mn64_k32 {  // MN-major with 64 bytes by K-major with 32
cudaError_t launch(CutegenArgs const* a) {
  return run<SM90_64x16x16_F32BF16BF16_SS<Major::MN, Major::K>, GMMA::Layout_MN_SW64_Atom<bfloat16_t>, GMMA::Layout_K_SW32_Atom<bfloat16_t>, 16, 32, bfloat16_t, float>(a);
}
}  // namespace wgmma_bf16_mn64_k32

namespace wgmma_f16_unswizzled {  // K-major by MN-major, no swizzle
cudaError_t launch(CutegenArgs const* a) {
  return run<SM90_64x32x16_F32F16F16_SS<Major::K, Major::MN>, GMMA::Layout_K_INTER_Atom<half_t>, GMMA::Layout_MN_INTER_Atom<half_t>, 32, 32, half_t, float>(a);
}
}  // namespace wgmma_f16_unswizzled

namespace wgmma_f16_rs_mn_128 {  // A from registers, B MN-major
cudaError_t launch(CutegenArgs const* a) {
  return run<SM90_64x64x16_F32F16F16_RS<Major::K, Major::MN>, GMMA::Layout_K_SW64_Atom<half_t>, GMMA::Layout_MN_SW128_Atom<half_t>, 64, 32, half_t, float, true>(a);
}
}  // namespace wgmma_f16_rs_mn_128

namespace wgmma_f16_half_sums {  // half accumulators
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_K_SW128_Atom<half_t>;
  return run<SM90_64x32x16_F16F16F16_SS<Major::K, Major::K>, S, S, 32, 64, half_t, half_t>(a);
}
}  // namespace wgmma_f16_half_sums

namespace wgmma_tf32 {
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_K_SW128_Atom<tfloat32_t>;
  return run<SM90_64x32x8_F32TF32TF32_SS_TN<>, S, S, 32, 32, tfloat32_t, float>(a);
}
}  // namespace wgmma_tf32

namespace wgmma_s8 {
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_K_SW64_Atom<int8_t>;
  return run<SM90_64x32x32_S32S8S8_SS_TN, S, S, 32, 64, int8_t, int32_t>(a);
}
}  // namespace wgmma_s8

namespace wgmma_e4m3 {
cudaError_t launch(CutegenArgs const* a) {
  using S = GMMA::Layout_K_SW128_Atom<float_e4m3_t>;
  return run<SM90_64x32x32_F32E4M3E4M3_SS_TN<>, S, S, 32, 128, float_e4m3_t, float>(a);
}
}  // namespace wgmma_e4m3
