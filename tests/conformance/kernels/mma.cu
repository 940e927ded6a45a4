// Warp-level tensor-core atoms, fed by ldmatrix or by plain loads from swizzled shared memory.
#include <cute/tensor.hpp>

#include "cutegen_args.h"

using namespace cute;

// Shared layouts of a 32 x K tile of T, rows or columns contiguous, swizzled where rows are.
template <class T, int K, class Swizzle_>
using Rows = decltype(composition(Swizzle_{}, Layout<Shape<_32, Int<K>>, Stride<Int<K>, _1>>{}));
template <int K>
using Columns = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_32, Int<K>>, Stride<_1, _32>>{}));
using Plain = Swizzle<0, 4, 3>;

// C[M,N] = A[M,K] B[N,K]^T, one tile of 32 x 32 a block. DefaultCopy loads fragments as they are.
template <class TiledMma, class CopyA, class CopyB, class LayoutA, class LayoutB, class T, class TC>
__global__ void tile_product(T const* A, T const* B, TC* C, int N, int K) {
  constexpr int BK = decltype(size<1>(LayoutA{}))::value;
  __shared__ alignas(128) T storage_a[cosize_v<LayoutA>];
  __shared__ alignas(128) T storage_b[cosize_v<LayoutB>];
  Tensor sA = make_tensor(make_smem_ptr(storage_a), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(storage_b), LayoutB{});
  TiledMma mma;
  auto thread = mma.get_slice(threadIdx.x);
  Tensor gC = make_tensor(make_gmem_ptr(C + blockIdx.y * 32 * N + blockIdx.x * 32), Shape<_32, _32>{}, make_stride(N, _1{}));
  Tensor tCgC = thread.partition_C(gC);
  Tensor tCrC = thread.make_fragment_C(tCgC);
  Tensor tCrA = thread.partition_fragment_A(sA);
  Tensor tCrB = thread.partition_fragment_B(sB);
  clear(tCrC);
  for (int start = 0; start < K; start += BK) {
    for (int i = threadIdx.x; i < 32 * BK; i += blockDim.x) {
      int const row = i / BK, k = i % BK;
      storage_a[LayoutA{}(row, k)] = A[(blockIdx.y * 32 + row) * K + start + k];
      storage_b[LayoutB{}(row, k)] = B[(blockIdx.x * 32 + row) * K + start + k];
    }
    __syncthreads();
    if constexpr (is_same_v<CopyA, DefaultCopy>) {
      Tensor tCsA = thread.partition_A(sA);
      Tensor tCsB = thread.partition_B(sB);
      for (int i = 0; i < size(tCrA); ++i) tCrA(i) = tCsA(i);
      for (int i = 0; i < size(tCrB); ++i) tCrB(i) = tCsB(i);
    } else {
      auto copy_a = make_tiled_copy_A(Copy_Atom<CopyA, T>{}, mma);
      auto copy_b = make_tiled_copy_B(Copy_Atom<CopyB, T>{}, mma);
      auto thread_a = copy_a.get_slice(threadIdx.x);
      auto thread_b = copy_b.get_slice(threadIdx.x);
      copy(copy_a, thread_a.partition_S(sA), thread_a.retile_D(tCrA));
      copy(copy_b, thread_b.partition_S(sB), thread_b.retile_D(tCrB));
    }
    gemm(mma, tCrA, tCrB, tCrC);
    __syncthreads();
  }
  for (int i = 0; i < size(tCrC); ++i) tCgC(i) = tCrC(i);
}

template <class TiledMma, class CopyA, class CopyB, class LayoutA, class LayoutB, class T, class TC>
cudaError_t run(CutegenArgs const* a) {
  int const m = a->a_shape[0], k = a->a_shape[1], n = a->b_shape[0];
  tile_product<TiledMma, CopyA, CopyB, LayoutA, LayoutB, T, TC><<<dim3(n / 32, m / 32), decltype(size(TiledMma{}))::value, 0, a->stream>>>(a->in_a<T>(), a->in_b<T>(), a->to<TC>(), n, k);
  return cudaGetLastError();
}

// Four warps, 2 x 2, each with two atoms side by side.
template <class Atom, int K>
using FourWarps = decltype(make_tiled_mma(Atom{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, Int<K>>{}));

namespace f16_f32_16x8x16 {  // swizzled rows, ldmatrix x4 for both
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<half_t, 64, Swizzle<3, 3, 3>>;
  return run<FourWarps<SM80_16x8x16_F32F16F16F32_TN, 16>, SM75_U32x4_LDSM_N, SM75_U32x4_LDSM_N, S, S, half_t, float>(a);
}
}  // namespace f16_f32_16x8x16

namespace f16_f16_16x8x16 {  // half accumulators, ldmatrix x4 and x2
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<half_t, 32, Swizzle<2, 3, 3>>;
  return run<FourWarps<SM80_16x8x16_F16F16F16F16_TN, 16>, SM75_U32x4_LDSM_N, SM75_U32x2_LDSM_N, S, S, half_t, half_t>(a);
}
}  // namespace f16_f16_16x8x16

namespace f16_f32_16x8x8 {  // ldmatrix x2 and x1
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<half_t, 32, Swizzle<2, 3, 3>>;
  return run<FourWarps<SM80_16x8x8_F32F16F16F32_TN, 8>, SM75_U32x2_LDSM_N, SM75_U32x1_LDSM_N, S, S, half_t, float>(a);
}
}  // namespace f16_f32_16x8x8

namespace bf16_16x8x16_transposed {  // columns contiguous, transposing ldmatrix x4 and x2
cudaError_t launch(CutegenArgs const* a) {
  using S = Columns<32>;
  return run<FourWarps<SM80_16x8x16_F32BF16BF16F32_TN, 16>, SM75_U16x8_LDSM_T, SM75_U16x4_LDSM_T, S, S, bfloat16_t, float>(a);
}
}  // namespace bf16_16x8x16_transposed

namespace bf16_16x8x8 {  // plain loads
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<bfloat16_t, 16, Plain>;
  return run<FourWarps<SM80_16x8x8_F32BF16BF16F32_TN, 8>, DefaultCopy, DefaultCopy, S, S, bfloat16_t, float>(a);
}
}  // namespace bf16_16x8x8

namespace tf32_16x8x8 {  // ldmatrix moves 32-bit elements as pairs of halves
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<tfloat32_t, 32, Swizzle<3, 2, 3>>;
  return run<FourWarps<SM80_16x8x8_F32TF32TF32F32_TN, 8>, SM75_U32x4_LDSM_N, SM75_U32x2_LDSM_N, S, S, tfloat32_t, float>(a);
}
}  // namespace tf32_16x8x8

namespace tf32_16x8x4 {  // plain loads
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<tfloat32_t, 16, Swizzle<2, 2, 3>>;
  return run<FourWarps<SM80_16x8x4_F32TF32TF32F32_TN, 4>, DefaultCopy, DefaultCopy, S, S, tfloat32_t, float>(a);
}
}  // namespace tf32_16x8x4

namespace f64_8x8x4 {
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<double, 16, Plain>;
  return run<FourWarps<SM80_8x8x4_F64F64F64F64_TN, 4>, DefaultCopy, DefaultCopy, S, S, double, double>(a);
}
}  // namespace f64_8x8x4

namespace s8_16x8x32 {  // ldmatrix moves bytes as pairs
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<int8_t, 64, Swizzle<2, 4, 3>>;
  return run<FourWarps<SM80_16x8x32_S32S8S8S32_TN, 32>, SM75_U32x4_LDSM_N, SM75_U32x2_LDSM_N, S, S, int8_t, int32_t>(a);
}
}  // namespace s8_16x8x32

namespace u8_16x8x16 {
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<uint8_t, 32, Plain>;
  return run<FourWarps<SM80_16x8x16_S32U8U8S32_TN, 16>, DefaultCopy, DefaultCopy, S, S, uint8_t, int32_t>(a);
}
}  // namespace u8_16x8x16

namespace s8_8x8x16 {  // Turing's
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<int8_t, 32, Plain>;
  return run<FourWarps<SM75_8x8x16_S32S8S8S32_TN, 16>, DefaultCopy, DefaultCopy, S, S, int8_t, int32_t>(a);
}
}  // namespace s8_8x8x16

namespace f16_8x8x4_quadpairs {  // Volta's: eight threads of a warp multiply, four groups of them
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<half_t, 16, Plain>;
  using Mma = decltype(make_tiled_mma(SM70_8x8x4_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}));
  return run<Mma, DefaultCopy, DefaultCopy, S, S, half_t, float>(a);
}
}  // namespace f16_8x8x4_quadpairs

namespace e4m3_16x8x32 {  // eight-bit floats
cudaError_t launch(CutegenArgs const* a) {
  using S = Rows<float_e4m3_t, 32, Plain>;
  return run<FourWarps<SM89_16x8x32_F32E4M3E4M3F32_TN, 32>, DefaultCopy, DefaultCopy, S, S, float_e4m3_t, float>(a);
}
}  // namespace e4m3_16x8x32
