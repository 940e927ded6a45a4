// What the elements of a matrix instruction are to its arithmetic.
#pragma once

#include <cute/numeric/complex.hpp>
#include <cute/numeric/numeric_types.hpp>
#include <cutegen_emulator/half_bits.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Element number `i` of packed registers, as the type that products are made in. Products of two
// of them are exact: 8 or 11 bits each in a float.
template <class T, class = void>
struct Factor;

template <class T, class To>
struct ConvertedFactor {
  using Type = To;
  static To load(void const* registers, int i) {
    return static_cast<To>(static_cast<T const*>(registers)[i]);
  }
};

template <>
struct Factor<cutlass::half_t> {
  using Type = float;
  static float load(void const* registers, int i) {
    return half_to_float(static_cast<uint16_t const*>(registers)[i]);
  }
};
template <>
struct Factor<cutlass::bfloat16_t> {
  using Type = float;
  static float load(void const* registers, int i) {
    return bfloat16_to_float(static_cast<uint16_t const*>(registers)[i]);
  }
};
template <>
struct Factor<cutlass::tfloat32_t> {
  using Type = float;
  // The hardware ignores the low 13 bits of a float: it truncates, and rounds nothing.
  static float load(void const* registers, int i) {
    return bits_float(static_cast<uint32_t const*>(registers)[i] & 0xffffe000);
  }
};
template <>
struct Factor<cutlass::float_e4m3_t> : ConvertedFactor<cutlass::float_e4m3_t, float> {};
template <>
struct Factor<cutlass::float_e5m2_t> : ConvertedFactor<cutlass::float_e5m2_t, float> {};
template <>
struct Factor<double> : ConvertedFactor<double, double> {};
template <>
struct Factor<cute::complex<double>>
    : ConvertedFactor<cute::complex<double>, cute::complex<double>> {};
template <>
struct Factor<int8_t> : ConvertedFactor<int8_t, int32_t> {};
template <>
struct Factor<uint8_t> : ConvertedFactor<uint8_t, int32_t> {};
template <>
struct Factor<int16_t> : ConvertedFactor<int16_t, int32_t> {};

// Integers of less than a byte: the first is in the lowest bits.
template <int kBits, bool kSigned>
struct Factor<cutlass::integer_subbyte<kBits, kSigned>> {
  using Type = int32_t;
  static int32_t load(void const* registers, int i) {
    constexpr int kPerByte = 8 / kBits;
    int const byte = static_cast<uint8_t const*>(registers)[i / kPerByte];
    int const value = byte >> (i % kPerByte * kBits) & ((1 << kBits) - 1);
    return kSigned && value >> (kBits - 1) ? value - (1 << kBits) : value;
  }
};

// How sums are kept, and how the result is made of them.
template <class T>
struct Sum;

template <>
struct Sum<float> {
  using Type = float;
  static float load(void const* registers, int i) { return static_cast<float const*>(registers)[i]; }
  static void store(void* registers, int i, float sum, bool) {
    static_cast<float*>(registers)[i] = sum;
  }
};
// Summed in float, and rounded once at the end of the instruction.
template <>
struct Sum<cutlass::half_t> {
  using Type = float;
  static float load(void const* registers, int i) {
    return half_to_float(static_cast<uint16_t const*>(registers)[i]);
  }
  static void store(void* registers, int i, float sum, bool) {
    static_cast<uint16_t*>(registers)[i] = float_to_half(sum);
  }
};
template <class T>
struct PlainSum {
  using Type = T;
  static T load(void const* registers, int i) { return static_cast<T const*>(registers)[i]; }
  static void store(void* registers, int i, T sum, bool) { static_cast<T*>(registers)[i] = sum; }
};
template <>
struct Sum<double> : PlainSum<double> {};
template <>
struct Sum<cute::complex<double>> : PlainSum<cute::complex<double>> {};
template <>
struct Sum<int32_t> {
  using Type = int64_t;
  static int64_t load(void const* registers, int i) {
    return static_cast<int32_t const*>(registers)[i];
  }
  static void store(void* registers, int i, int64_t sum, bool saturates) {
    if (saturates) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    static_cast<int32_t*>(registers)[i] = int32_t(sum);
  }
};

template <class T, class = void>
inline constexpr bool kIsFactor = false;
template <class T>
inline constexpr bool kIsFactor<T, std::void_t<typename Factor<T>::Type>> = true;
template <class T, class = void>
inline constexpr bool kIsSum = false;
template <class T>
inline constexpr bool kIsSum<T, std::void_t<typename Sum<T>::Type>> = true;

}  // namespace cutegen_emu
