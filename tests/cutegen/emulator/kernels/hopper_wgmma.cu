// Products of one warpgroup: types, majors, swizzles, operands in registers. Also runs on a GPU.
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>

using namespace cute;
using SM90::GMMA::Major;
using SM90::GMMA::ScaleIn;
using SM90::GMMA::ScaleOut;

constexpr int kM = 128, kN = 64;

// out = a b^T in 128 x 64, and k as wide as a row of 128 bytes. The first step clears the
// accumulators, which begin as what `start` says.
template <class A, class B, class Mma, class LayoutA, class LayoutB>
__global__ void __launch_bounds__(128)
    multiply(Mma mma, LayoutA layout_a, LayoutB layout_b, float const* a, float const* b,
             float* out, float start, int wait) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Tensor shared_a = make_tensor(make_smem_ptr(reinterpret_cast<A*>(memory)), layout_a);
  Tensor shared_b = make_tensor(
      make_smem_ptr(reinterpret_cast<B*>(memory + cosize(layout_a) * sizeof(A))), layout_b);
  constexpr int kK = size<1>(LayoutA{});
  for (int i = threadIdx.x; i < kM * kK; i += blockDim.x) {
    shared_a(i / kK, i % kK) = static_cast<A>(a[i]);
  }
  for (int i = threadIdx.x; i < kN * kK; i += blockDim.x) {
    shared_b(i / kK, i % kK) = static_cast<B>(b[i]);
  }
  cutlass::arch::fence_view_async_shared();
  __syncthreads();

  auto thread = mma.get_thread_slice(threadIdx.x);
  Tensor global = make_tensor(make_gmem_ptr(out), make_shape(Int<kM>{}, Int<kN>{}),
                              make_stride(Int<kN>{}, Int<1>{}));
  Tensor part = thread.partition_C(global);
  Tensor sums = thread.make_fragment_C(part);
  fill(sums, static_cast<typename decltype(sums)::value_type>(start));
  Tensor fragment_b = thread.make_fragment_B(thread.partition_B(shared_b));
  auto run = [&](auto const& fragment_a) {
    if (start == 0) mma.accumulate_ = ScaleOut::Zero;
    warpgroup_fence_operand(sums);
    warpgroup_arrive();
    for (int k = 0; k < size<2>(fragment_b); ++k) {
      gemm(mma, fragment_a(_, _, k), fragment_b(_, _, k), sums);
      mma.accumulate_ = ScaleOut::One;
    }
    warpgroup_commit_batch();
    if (wait) warpgroup_wait<0>();
    warpgroup_fence_operand(sums);
  };
  using Op = typename Mma::Atom::MMA_Op;
  if constexpr (is_same_v<std::remove_extent_t<typename Op::ARegisters>, uint64_t>) {
    run(thread.make_fragment_A(thread.partition_A(shared_a)));
  } else {
    Tensor from = thread.partition_A(shared_a);
    Tensor registers = make_fragment_like(from);
    copy(from, registers);
    run(registers);
  }
  for (int i = 0; i < size(sums); ++i) part(i) = float(sums(i));
  if (!wait) warpgroup_wait<0>();
}


template <class A, class B, template <class> class AtomA, template <class> class AtomB, class Op>
cudaError_t go(CutegenArgs const* args, Op op, float start = 0, bool wait = true) {
  constexpr int kK = 128 / sizeof(A);
  auto layout_a = tile_to_shape(AtomA<A>{}, make_shape(Int<kM>{}, Int<kK>{}));
  auto layout_b = tile_to_shape(AtomB<B>{}, make_shape(Int<kN>{}, Int<kK>{}));
  auto mma = make_tiled_mma(op);
  multiply<A, B><<<1, 128, (kM + kN) * 128, args->stream>>>(mma, layout_a, layout_b, args->a,
                                                            args->b, args->out, start, wait);
  return cudaGetLastError();
}

template <Major A, Major B>
using Half = SM90_64x64x16_F32F16F16_SS<A, B>;

extern "C" cudaError_t cutegen_launch(CutegenArgs const* args) {
  using namespace SM90::GMMA;
  constexpr Major K = Major::K, MN = Major::MN;
#define CASE(NAME, ...) \
  if (args->calls(NAME)) return go<__VA_ARGS__
  CASE("kk_plain", half_t, half_t, Layout_K_INTER_Atom, Layout_K_INTER_Atom>(args, Half<K, K>{}));
  CASE("kk_32", half_t, half_t, Layout_K_SW32_Atom, Layout_K_SW32_Atom>(args, Half<K, K>{}));
  CASE("kk_64", half_t, half_t, Layout_K_SW64_Atom, Layout_K_SW64_Atom>(args, Half<K, K>{}));
  CASE("kk_128", half_t, half_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>(args, Half<K, K>{}));
  CASE("mm_plain", half_t, half_t, Layout_MN_INTER_Atom, Layout_MN_INTER_Atom>
           (args, Half<MN, MN>{}));
  CASE("mm_64", half_t, half_t, Layout_MN_SW64_Atom, Layout_MN_SW64_Atom>(args, Half<MN, MN>{}));
  CASE("mm_128", half_t, half_t, Layout_MN_SW128_Atom, Layout_MN_SW128_Atom>
           (args, Half<MN, MN>{}));
  CASE("km_64_32", half_t, half_t, Layout_K_SW64_Atom, Layout_MN_SW32_Atom>(args, Half<K, MN>{}));
  CASE("registers", half_t, half_t, Layout_K_SW128_Atom, Layout_MN_SW128_Atom>
           (args, SM90_64x64x16_F32F16F16_RS<K, MN>{}));
  CASE("negated_half", half_t, half_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>
           (args, SM90_64x32x16_F16F16F16_SS<K, K, ScaleIn::Neg>{}, 3.0f));
  CASE("bf16", bfloat16_t, bfloat16_t, Layout_K_SW128_Atom, Layout_MN_SW64_Atom>
           (args, SM90_64x16x16_F32BF16BF16_SS<K, MN>{}));
  CASE("tf32", tfloat32_t, tfloat32_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>
           (args, SM90_64x64x8_F32TF32TF32_RS_TN<>{}));
  CASE("s8", int8_t, int8_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>
           (args, SM90_64x64x32_S32S8S8_RS_TN{}));
  CASE("float8", float_e5m2_t, float_e4m3_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>
           (args, SM90_64x64x32_F32E5M2E4M3_SS_TN<>{}));
  CASE("unwaited", half_t, half_t, Layout_K_SW128_Atom, Layout_K_SW128_Atom>
           (args, Half<K, K>{}, 0, false));
#undef CASE
  return cudaErrorInvalidValue;
}
