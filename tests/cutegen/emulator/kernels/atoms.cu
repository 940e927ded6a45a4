// Matrix instructions on raw registers: register r of lane t is word 32 r + t, so that a test can
// place every element as the PTX manual says, not as CuTe's layouts do.
#include <cute/tensor.hpp>

#include <cute/atom/mma_traits_sm89.hpp>
#include <cute/atom/mma_traits_sm90.hpp>

#include <cutlass/arch/barrier.h>

#include "cutegen_args.h"

using namespace cute;

template <class T>
__device__ void load(T* registers, int count, void const* from, int offset) {
  for (int i = 0; i < count; ++i) registers[i] = static_cast<T const*>(from)[32 * i + offset];
}

// D = A B + C by CuTe's atom; A, B and C one after the other, each of 2048 bytes at most.
template <class Op>
__global__ void multiply(char const* in, char* out) {
  using Atom = MMA_Atom<Op>;
  typename Op::DRegisters d;
  typename Op::ARegisters a;
  typename Op::BRegisters b;
  typename Op::CRegisters c;
  load(a, std::extent_v<typename Op::ARegisters>, in, threadIdx.x);
  load(b, std::extent_v<typename Op::BRegisters>, in + 4096, threadIdx.x);
  load(c, std::extent_v<typename Op::CRegisters>, in + 8192, threadIdx.x);
  auto fragment = [](auto* registers, auto layout, auto element) {
    return make_tensor(make_rmem_ptr(reinterpret_cast<decltype(element)*>(registers)), make_layout(size<1>(layout)));
  };
  Tensor rD = fragment(d, typename Atom::LayoutC_TV{}, typename Atom::ValTypeD{});
  Tensor rA = fragment(a, typename Atom::LayoutA_TV{}, typename Atom::ValTypeA{});
  Tensor rB = fragment(b, typename Atom::LayoutB_TV{}, typename Atom::ValTypeB{});
  Tensor rC = fragment(c, typename Atom::LayoutC_TV{}, typename Atom::ValTypeC{});
  Atom{}.call(rD, rA, rB, rC);
  for (int i = 0; i < std::extent_v<typename Op::DRegisters>; ++i)
    reinterpret_cast<std::remove_reference_t<decltype(d[0])>*>(out)[32 * i + threadIdx.x] = d[i];
}

// The same without CuTe's tensors.
__global__ void product_by_hand(uint32_t const* in, float* out) {
  using Op = SM80_16x8x16_F32F16F16F32_TN;
  uint32_t a[4], b[2];
  float c[4], d[4];
  load(a, 4, in, threadIdx.x);
  load(b, 2, in + 1024, threadIdx.x);
  load(c, 4, in + 2048, threadIdx.x);
  cute::SM80_16x8x16_F32F16F16F32_TN::fma(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]);
  MMA_Atom<Op>::MMA_Op::fma(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], d[0], d[1], d[2], d[3]);
  for (int i = 0; i < 4; ++i) out[32 * i + threadIdx.x] = d[i];
}

// ldmatrix of the rows in `in`, 16 bytes each. A lane whose address is not read brings a wrong one.
template <class Op>
__global__ void load_matrices(uint128_t const* in, uint32_t* out) {
  constexpr int kMatrices = std::extent_v<typename Op::DRegisters>;
  __shared__ uint128_t rows[32];
  rows[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  uint128_t* row = threadIdx.x < 8 * kMatrices ? rows + threadIdx.x : nullptr;
  Tensor source = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(row)), Layout<_8>{});
  Tensor target = make_tensor<half_t>(Int<2 * kMatrices>{});
  Copy_Atom<Op, half_t>{}.call(source, target);
  for (int i = 0; i < kMatrices; ++i) out[32 * i + threadIdx.x] = recast<uint32_t>(target)(i);
}

template <class Op>
__global__ void store_matrices(uint32_t const* in, uint128_t* out) {
  constexpr int kMatrices = std::extent_v<typename Op::SRegisters>;
  __shared__ uint128_t rows[32];
  Tensor source = make_tensor<half_t>(Int<2 * kMatrices>{});
  for (int i = 0; i < kMatrices; ++i) recast<uint32_t>(source)(i) = in[32 * i + threadIdx.x];
  uint128_t* row = threadIdx.x < 8 * kMatrices ? rows + threadIdx.x : nullptr;
  Tensor target = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(row)), Layout<_8>{});
  Copy_Atom<Op, half_t>{}.call(source, target);
  __syncthreads();
  if (threadIdx.x < 8 * kMatrices) out[threadIdx.x] = rows[threadIdx.x];
}

__global__ void transpose(uint32_t const* in, uint32_t* out) {
  SM75_U32x1_MOVM_T::copy(in[threadIdx.x], out[threadIdx.x]);
}

__global__ void misaligned_row(float* out) {
  __shared__ uint128_t rows[9];
  uint32_t d;
  auto const address = reinterpret_cast<char*>(rows) + 16 * (threadIdx.x % 8) + 4 * (threadIdx.x == 3);
  cutegen_emu::ldmatrix<false>(address, d);
  out[threadIdx.x] = float(d);
}

__global__ void global_row(uint128_t const* in, uint32_t* out) {
  SM75_U32x1_LDSM_N::copy(in[threadIdx.x], out[threadIdx.x]);
}

__global__ void uncallable(uint32_t const* in, uint32_t* out) {
  copy_ldsm(reinterpret_cast<uint128_t const*>(in), out);
}

// Asynchronous copies: out[i] is what thread i finds before the wait, and behind it.
__global__ void async_copies(float const* in, float* out, int n) {
  extern __shared__ float4 staged[];
  int const t = threadIdx.x;
  auto* pairs = reinterpret_cast<double*>(staged + 32);
  auto* singles = reinterpret_cast<float*>(staged + 64);
  SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>::copy(reinterpret_cast<uint128_t const*>(in)[t], reinterpret_cast<uint128_t*>(staged)[t]);
  cp_async_fence();
  SM80_CP_ASYNC_CACHEALWAYS_ZFILL<double>::copy(reinterpret_cast<double const*>(in)[t < n ? t : 1 << 20], pairs[t], t < n);
  cp_async_fence();
  SM80_CP_ASYNC_CACHEALWAYS<float>::copy(in[t], singles[t]);
  out[t] = staged[t].x;
  cp_async_wait<1>();
  out[32 + t] = staged[t].x;
  out[64 + t] = float(pairs[t]);
  cp_async_wait<0>();
  out[96 + t] = float(pairs[t]);
  out[128 + t] = singles[t];
}

__global__ void misaligned_async(float const* in, float* out) {
  __shared__ float staged[64];
  char const* from = reinterpret_cast<char const*>(in) + 4;
  SM80_CP_ASYNC_CACHEALWAYS<double>::copy(*reinterpret_cast<double const*>(from), *reinterpret_cast<double*>(staged));
  cp_async_wait<0>();
  out[0] = staged[0];
}

// One warp loads, another waits for the loads' arrival at a barrier. Nobody waits for the copies.
__global__ void arrival(float const* in, float* out, bool counts) {
  __shared__ alignas(16) float staged[32];
  __shared__ cutlass::arch::ClusterBarrier barrier;
  if (threadIdx.x == 0) barrier.init(32);
  __syncthreads();
  int const lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    SM80_CP_ASYNC_CACHEALWAYS<float>::copy(in[lane], staged[lane]);
    if (counts) {
      cutlass::arch::cpasync_barrier_arrive_noinc(reinterpret_cast<uint64_t const*>(&barrier));
    } else {
      cutlass::arch::cpasync_barrier_arrive(reinterpret_cast<uint64_t const*>(&barrier));
      barrier.arrive();
    }
  } else {
    barrier.wait(0);
    out[lane] = staged[lane];
  }
}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int const block = a->block;
  char const* in = reinterpret_cast<char const*>(a->a);
  char* out = reinterpret_cast<char*>(a->out);
  auto words = reinterpret_cast<uint32_t const*>(in);
  auto rows = reinterpret_cast<uint128_t const*>(in);
  auto words_out = reinterpret_cast<uint32_t*>(out);
#define PRODUCT(OP) \
  if (a->calls(#OP)) multiply<OP><<<1, block>>>(in, out);
  PRODUCT(SM70_8x8x4_F16F16F16F16_TN)
  PRODUCT(SM70_8x8x4_F32F16F16F32_NT)
  PRODUCT(SM75_16x8x8_F32F16F16F32_TN)
  PRODUCT(SM75_8x8x16_S32S8S8S32_TN)
  PRODUCT(SM80_16x8x16_F16F16F16F16_TN)
  PRODUCT(SM80_16x8x16_F32F16F16F32_TN)
  PRODUCT(SM80_16x8x8_F32BF16BF16F32_TN)
  PRODUCT(SM80_16x8x16_F32BF16BF16F32_TN)
  PRODUCT(SM80_16x8x4_F32TF32TF32F32_TN)
  PRODUCT(SM80_16x8x8_F32TF32TF32F32_TN)
  PRODUCT(SM80_8x8x4_F64F64F64F64_TN)
  PRODUCT(SM80_8x8x16_S32U8S8S32_TN)
  PRODUCT(SM80_16x8x32_S32S8U8S32_TN)
  PRODUCT(SM80_16x8x32_S32S8S8S32_TN_SATURATE)
  PRODUCT(SM80_8x8x32_S32S4S4S32_TN)
  PRODUCT(SM80_16x8x32_S32S4S4S32_TN)
  PRODUCT(SM80_16x8x64_S32S4U4S32_TN)
  PRODUCT(SM80_16x8x256_S32U1U1S32_TN_XORPOPC)
  PRODUCT(SM80_8x8x128_S32U1U1S32_TN_ANDPOPC)
  PRODUCT(SM89_16x8x32_F32E4M3E5M2F32_TN)
  PRODUCT(SM89_16x8x32_F16E5M2E4M3F16_TN)
  PRODUCT(SM90_16x8x16_F64F64F64F64_TN)
  if (a->calls("by_hand")) product_by_hand<<<1, block>>>(words, a->out);
#define LOAD(OP) \
  if (a->calls(#OP)) load_matrices<OP><<<1, block>>>(rows, words_out);
  LOAD(SM75_U32x1_LDSM_N)
  LOAD(SM75_U32x2_LDSM_N)
  LOAD(SM75_U32x4_LDSM_N)
  LOAD(SM75_U16x2_LDSM_T)
  LOAD(SM75_U16x4_LDSM_T)
  LOAD(SM75_U16x8_LDSM_T)
#define STORE(OP) \
  if (a->calls(#OP)) store_matrices<OP><<<1, block>>>(words, reinterpret_cast<uint128_t*>(out));
  STORE(SM90_U32x1_STSM_N)
  STORE(SM90_U32x2_STSM_N)
  STORE(SM90_U32x4_STSM_N)
  STORE(SM90_U16x2_STSM_T)
  STORE(SM90_U16x4_STSM_T)
  STORE(SM90_U16x8_STSM_T)
  if (a->calls("transpose")) transpose<<<1, block>>>(words, words_out);
  if (a->calls("misaligned_row")) misaligned_row<<<1, block>>>(a->out);
  if (a->calls("global_row")) global_row<<<1, block>>>(rows, words_out);
  if (a->calls("uncallable")) uncallable<<<1, block>>>(words, words_out);
  if (a->calls("async_copies")) async_copies<<<1, 32, 80 * 16>>>(a->a, a->out, a->n);
  if (a->calls("arrival")) arrival<<<1, 64>>>(a->a, a->out, a->n);
  if (a->calls("misaligned_async")) misaligned_async<<<1, 32>>>(a->a, a->out);
  return cudaGetLastError();
}
