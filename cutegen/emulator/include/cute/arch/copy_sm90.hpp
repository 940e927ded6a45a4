// stmatrix under CuTe's names.
#pragma once

#include <cutegen_emulator/atoms/matrix_moves.hpp>

#define SM90_U32x1_STSM_N cutegen_of_cutlass_SM90_U32x1_STSM_N
#define SM90_U32x2_STSM_N cutegen_of_cutlass_SM90_U32x2_STSM_N
#define SM90_U32x4_STSM_N cutegen_of_cutlass_SM90_U32x4_STSM_N
#define SM90_U16x2_STSM_T cutegen_of_cutlass_SM90_U16x2_STSM_T
#define SM90_U16x4_STSM_T cutegen_of_cutlass_SM90_U16x4_STSM_T
#define SM90_U16x8_STSM_T cutegen_of_cutlass_SM90_U16x8_STSM_T
#include_next <cute/arch/copy_sm90.hpp>
#undef SM90_U32x1_STSM_N
#undef SM90_U32x2_STSM_N
#undef SM90_U32x4_STSM_N
#undef SM90_U16x2_STSM_T
#undef SM90_U16x4_STSM_T
#undef SM90_U16x8_STSM_T

#ifndef CUTE_ARCH_STSM_SM90_ENABLED
#define CUTE_ARCH_STSM_SM90_ENABLED
#endif

namespace cute {

template <bool kTranspose, class... Registers>
struct CutegenStmatrix {
  using SRegisters = uint32_t[sizeof...(Registers)];
  using DRegisters = uint128_t[1];

  static void copy(Registers const&... registers, uint128_t& row) {
    ::cutegen_emu::stmatrix<kTranspose>(&row, registers...);
  }
};

struct SM90_U32x1_STSM_N : CutegenStmatrix<false, uint32_t> {};
struct SM90_U32x2_STSM_N : CutegenStmatrix<false, uint32_t, uint32_t> {};
struct SM90_U32x4_STSM_N : CutegenStmatrix<false, uint32_t, uint32_t, uint32_t, uint32_t> {};
struct SM90_U16x2_STSM_T : CutegenStmatrix<true, uint32_t> {};
struct SM90_U16x4_STSM_T : CutegenStmatrix<true, uint32_t, uint32_t> {};
struct SM90_U16x8_STSM_T : CutegenStmatrix<true, uint32_t, uint32_t, uint32_t, uint32_t> {};

}  // namespace cute
