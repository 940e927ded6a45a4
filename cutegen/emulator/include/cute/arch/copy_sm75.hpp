// ldmatrix and movmatrix under CuTe's names. Another operation of the header is refused when used.
#pragma once

#include <cutegen_emulator/atoms/matrix_moves.hpp>

#define SM75_U32x1_LDSM_N cutegen_of_cutlass_SM75_U32x1_LDSM_N
#define SM75_U32x2_LDSM_N cutegen_of_cutlass_SM75_U32x2_LDSM_N
#define SM75_U32x4_LDSM_N cutegen_of_cutlass_SM75_U32x4_LDSM_N
#define SM75_U16x2_LDSM_T cutegen_of_cutlass_SM75_U16x2_LDSM_T
#define SM75_U16x4_LDSM_T cutegen_of_cutlass_SM75_U16x4_LDSM_T
#define SM75_U16x8_LDSM_T cutegen_of_cutlass_SM75_U16x8_LDSM_T
#define SM75_U32x1_MOVM_T cutegen_of_cutlass_SM75_U32x1_MOVM_T
#include_next <cute/arch/copy_sm75.hpp>
#undef SM75_U32x1_LDSM_N
#undef SM75_U32x2_LDSM_N
#undef SM75_U32x4_LDSM_N
#undef SM75_U16x2_LDSM_T
#undef SM75_U16x4_LDSM_T
#undef SM75_U16x8_LDSM_T
#undef SM75_U32x1_MOVM_T

#define CUTE_ARCH_LDSM_SM75_ACTIVATED 1
#define CUTE_ARCH_MOVM_SM75_ACTIVATED 1

namespace cute {

template <int kMatrices, bool kTranspose>
struct CutegenLdmatrix {
  using SRegisters = uint128_t[1];
  using DRegisters = uint32_t[kMatrices];

  template <class... R>
  static void copy(uint128_t const& row, R&... registers) {
    static_assert(sizeof...(R) == kMatrices, "ldmatrix fills one register per matrix");
    ::cutegen_emu::ldmatrix<kTranspose>(&row, registers...);
  }
};

struct SM75_U32x1_LDSM_N : CutegenLdmatrix<1, false> {};
struct SM75_U32x2_LDSM_N : CutegenLdmatrix<2, false> {};
struct SM75_U32x4_LDSM_N : CutegenLdmatrix<4, false> {};
struct SM75_U16x2_LDSM_T : CutegenLdmatrix<1, true> {};
struct SM75_U16x4_LDSM_T : CutegenLdmatrix<2, true> {};
struct SM75_U16x8_LDSM_T : CutegenLdmatrix<4, true> {};

struct SM75_U32x1_MOVM_T {
  using SRegisters = uint32_t[1];
  using DRegisters = uint32_t[1];

  static void copy(uint32_t source, uint32_t& target) { target = ::cutegen_emu::movmatrix(source); }
};

}  // namespace cute
