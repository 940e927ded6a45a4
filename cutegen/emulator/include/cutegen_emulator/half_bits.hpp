// Conversions between float and the two 16-bit formats, rounding to nearest even, and to TF32.
#pragma once

#include <cutegen_emulator/standard.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline uint32_t float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

inline float bits_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

inline uint16_t float_to_half(float x) {
  uint32_t const bits = float_bits(x);
  uint16_t const sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;                       // NaN, as the hardware writes it
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);     // rounds to infinity
  if (magnitude < 0x38800000) {                                    // a subnormal half
    // Adding 0.5 puts the half's last place at the float's: the addition itself rounds.
    float const shifted = bits_float(magnitude) + 0.5f;
    return uint16_t(sign | (float_bits(shifted) - 0x3f000000));
  }
  uint32_t const rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

inline float half_to_float(uint16_t h) {
  uint32_t const sign = uint32_t(h & 0x8000) << 16;
  uint32_t const rest = h & 0x7fff;
  if (rest >= 0x7c00) return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400) return bits_float(sign | ((rest << 13) + 0x38000000));
  return bits_float(sign | float_bits(float(rest) * 0x1p-24f));
}

inline uint16_t float_to_bfloat16(float x) {
  uint32_t const bits = float_bits(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float bfloat16_to_float(uint16_t b) { return bits_float(uint32_t(b) << 16); }

// A float's bits rounded to the 10 fraction bits of TF32, and none below them. To nearest; that a
// tie goes away from zero, as in cvt.rna.tf32.f32, and that a NaN stays one and becomes quiet, is
// unmeasured until a GPU has run the conformance case tma_tfloat32.
inline uint32_t round_to_tfloat32(uint32_t bits) {
  constexpr uint32_t kDropped = 0x1fff;
  bool const nan = (bits & 0x7fffffff) > 0x7f800000;
  return (nan ? bits | 0x00400000 : (bits & 0x7fffffff) == 0x7f800000 ? bits : bits + 0x1000) &
         ~kDropped;
}

}  // namespace cutegen_emu
