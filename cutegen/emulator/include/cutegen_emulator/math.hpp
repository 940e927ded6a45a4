// Device math beyond <math.h>. Everything in float is computed in float; the fast intrinsics are
// as exact as the plain functions here, so a candidate's error on a GPU can be larger.
#pragma once

#include <cutegen_emulator/standard.hpp>

// glibc declares some of these names too, or newer ones do: always with C linkage.
extern "C" {
inline float rsqrtf(float x) noexcept { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) noexcept { return 1.0 / sqrt(x); }
inline float sinpif(float x) noexcept { return float(sin(M_PI * fmod(double(x), 2.0))); }
inline float cospif(float x) noexcept { return float(cos(M_PI * fmod(double(x), 2.0))); }
inline double sinpi(double x) noexcept { return sin(M_PI * fmod(x, 2.0)); }
inline double cospi(double x) noexcept { return cos(M_PI * fmod(x, 2.0)); }
inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return exp10f(x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline float __tanhf(float x) noexcept { return tanhf(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline void __sincosf(float x, float* s, float* c) noexcept { sincosf(x, s, c); }
}

inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
// NaN becomes 0, as on a GPU.
inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float rhypotf(float x, float y) { return float(1.0 / hypot(double(x), double(y))); }
inline float normcdff(float x) { return float(0.5 * erfc(-double(x) * M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float erfcxf(float x) { return float(exp(double(x) * x) * erfc(double(x))); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline float norm3df(float x, float y, float z) {
  return float(sqrt(double(x) * x + double(y) * y + double(z) * z));
}

// CUDA's min and max are no templates: arguments of mixed types meet in the wider one.
#define CUTEGEN_EMU_MIN_MAX(R, A, B)  \
  constexpr R min(A a, B b) {         \
    R const x = a, y = b;             \
    return y < x ? y : x;             \
  }                                   \
  constexpr R max(A a, B b) {         \
    R const x = a, y = b;             \
    return x < y ? y : x;             \
  }
CUTEGEN_EMU_MIN_MAX(int, int, int)
CUTEGEN_EMU_MIN_MAX(unsigned, unsigned, unsigned)
CUTEGEN_EMU_MIN_MAX(unsigned, int, unsigned)
CUTEGEN_EMU_MIN_MAX(unsigned, unsigned, int)
CUTEGEN_EMU_MIN_MAX(long, long, long)
CUTEGEN_EMU_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUTEGEN_EMU_MIN_MAX(unsigned long, long, unsigned long)
CUTEGEN_EMU_MIN_MAX(unsigned long, unsigned long, long)
CUTEGEN_EMU_MIN_MAX(long long, long long, long long)
CUTEGEN_EMU_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CUTEGEN_EMU_MIN_MAX(unsigned long long, long long, unsigned long long)
CUTEGEN_EMU_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef CUTEGEN_EMU_MIN_MAX
#define CUTEGEN_EMU_MIN_MAX(R, A, B, SUFFIX)                   \
  inline R min(A a, B b) { return fmin##SUFFIX(a, b); }        \
  inline R max(A a, B b) { return fmax##SUFFIX(a, b); }
CUTEGEN_EMU_MIN_MAX(float, float, float, f)
CUTEGEN_EMU_MIN_MAX(double, double, double, )
CUTEGEN_EMU_MIN_MAX(double, float, double, )
CUTEGEN_EMU_MIN_MAX(double, double, float, )
#undef CUTEGEN_EMU_MIN_MAX

// A GPU saturates where C++ leaves a conversion undefined, and takes NaN to 0.
namespace cutegen_emu __attribute__((visibility("hidden"))) {
template <class To>
inline To saturated(double x) {
  if (x != x) return 0;
  // 2^63 and 2^64 are exact as double; the largest 64-bit integers are not.
  if (x >= -2.0 * double(std::numeric_limits<To>::min() / 2) && std::is_signed<To>::value) {
    return std::numeric_limits<To>::max();
  }
  if (x >= 2.0 * double(std::numeric_limits<To>::max() / 2 + 1)) {
    return std::numeric_limits<To>::max();
  }
  if (x <= double(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return To(x);
}
}  // namespace cutegen_emu

#define CUTEGEN_EMU_TO_INTEGER(FROM, F, NAME, TO)                                            \
  inline TO __##FROM##2##NAME##_rn(F x) { return cutegen_emu::saturated<TO>(nearbyint(x)); } \
  inline TO __##FROM##2##NAME##_rz(F x) { return cutegen_emu::saturated<TO>(trunc(x)); }     \
  inline TO __##FROM##2##NAME##_ru(F x) { return cutegen_emu::saturated<TO>(ceil(x)); }      \
  inline TO __##FROM##2##NAME##_rd(F x) { return cutegen_emu::saturated<TO>(floor(x)); }
CUTEGEN_EMU_TO_INTEGER(float, float, int, int)
CUTEGEN_EMU_TO_INTEGER(float, float, uint, unsigned)
CUTEGEN_EMU_TO_INTEGER(float, float, ll, long long)
CUTEGEN_EMU_TO_INTEGER(float, float, ull, unsigned long long)
CUTEGEN_EMU_TO_INTEGER(double, double, int, int)
CUTEGEN_EMU_TO_INTEGER(double, double, uint, unsigned)
CUTEGEN_EMU_TO_INTEGER(double, double, ll, long long)
CUTEGEN_EMU_TO_INTEGER(double, double, ull, unsigned long long)
#undef CUTEGEN_EMU_TO_INTEGER

inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline float __double2float_rn(double x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return double(x); }
