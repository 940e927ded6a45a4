// __half and __nv_bfloat16 with the functions that kernels use. Every operation is made in float
// and rounded once, which is exact for + - * / and sqrt.
#pragma once

#include <cutegen_emulator/half_bits.hpp>
#include <cutegen_emulator/vector_types.hpp>

#define CUTEGEN_EMU_HALF_TYPE(H, RAW, TO_BITS, TO_FLOAT)                                    \
  struct RAW {                                                                             \
    unsigned short x;                                                                      \
  };                                                                                       \
  struct alignas(2) H {                                                                    \
    unsigned short __x;                                                                    \
    H() = default;                                                                         \
    constexpr H(RAW raw) : __x(raw.x) {}                                                   \
    H(float v) : __x(cutegen_emu::TO_BITS(v)) {}                                           \
    H(double v) : H(float(v)) {}                                                           \
    H(int v) : H(float(v)) {}                                                              \
    H(unsigned v) : H(float(v)) {}                                                         \
    H(long v) : H(float(v)) {}                                                             \
    H(long long v) : H(float(v)) {}                                                        \
    operator float() const { return cutegen_emu::TO_FLOAT(__x); }                          \
    operator RAW() const { return {__x}; }                                                 \
    H& operator+=(H o) { return *this = H(float(*this) + float(o)); }                      \
    H& operator-=(H o) { return *this = H(float(*this) - float(o)); }                      \
    H& operator*=(H o) { return *this = H(float(*this) * float(o)); }                      \
    H& operator/=(H o) { return *this = H(float(*this) / float(o)); }                      \
  };                                                                                       \
  struct alignas(4) H##2 {                                                                 \
    H x, y;                                                                                \
    H##2() = default;                                                                      \
    H##2(H x, H y) : x(x), y(y) {}                                                         \
  };                                                                                       \
  inline H operator+(H a, H b) { return H(float(a) + float(b)); }                          \
  inline H operator-(H a, H b) { return H(float(a) - float(b)); }                          \
  inline H operator*(H a, H b) { return H(float(a) * float(b)); }                          \
  inline H operator/(H a, H b) { return H(float(a) / float(b)); }                          \
  inline H operator-(H a) { return H(-float(a)); }                                         \
  inline bool operator<(H a, H b) { return float(a) < float(b); }                          \
  inline bool operator>(H a, H b) { return float(a) > float(b); }                          \
  inline bool operator<=(H a, H b) { return float(a) <= float(b); }                        \
  inline bool operator>=(H a, H b) { return float(a) >= float(b); }                        \
  inline bool operator==(H a, H b) { return float(a) == float(b); }                        \
  inline bool operator!=(H a, H b) { return float(a) != float(b); }                        \
  inline H##2 operator+(H##2 a, H##2 b) { return {a.x + b.x, a.y + b.y}; }                 \
  inline H##2 operator-(H##2 a, H##2 b) { return {a.x - b.x, a.y - b.y}; }                 \
  inline H##2 operator*(H##2 a, H##2 b) { return {a.x * b.x, a.y * b.y}; }                 \
  inline H __hadd(H a, H b) { return a + b; }                                              \
  inline H __hsub(H a, H b) { return a - b; }                                              \
  inline H __hmul(H a, H b) { return a * b; }                                              \
  inline H __hdiv(H a, H b) { return a / b; }                                              \
  inline H __hneg(H a) { return -a; }                                                      \
  inline H __habs(H a) { return H(fabsf(float(a))); }                                      \
  inline H __hfma(H a, H b, H c) { return H(float(double(float(a)) * float(b) + float(c))); } \
  inline H __hmax(H a, H b) { return H(fmaxf(float(a), float(b))); }                       \
  inline H __hmin(H a, H b) { return H(fminf(float(a), float(b))); }                       \
  inline bool __hlt(H a, H b) { return a < b; }                                            \
  inline bool __hgt(H a, H b) { return a > b; }                                            \
  inline bool __hisnan(H a) { return isnan(float(a)); }                                    \
  inline H hexp(H a) { return H(expf(float(a))); }                                         \
  inline H hlog(H a) { return H(logf(float(a))); }                                         \
  inline H hsqrt(H a) { return H(sqrtf(float(a))); }                                       \
  inline H hrsqrt(H a) { return H(1.0f / sqrtf(float(a))); }                               \
  inline H hrcp(H a) { return H(1.0f / float(a)); }                                        \
  inline H##2 __hadd2(H##2 a, H##2 b) { return a + b; }                                    \
  inline H##2 __hsub2(H##2 a, H##2 b) { return a - b; }                                    \
  inline H##2 __hmul2(H##2 a, H##2 b) { return a * b; }                                    \
  inline H##2 __hfma2(H##2 a, H##2 b, H##2 c) {                                            \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                 \
  }                                                                                        \
  inline H##2 __hmax2(H##2 a, H##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }     \
  inline H##2 __hmin2(H##2 a, H##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }     \
  inline float __low2float(H##2 a) { return a.x; }                                         \
  inline float __high2float(H##2 a) { return a.y; }

CUTEGEN_EMU_HALF_TYPE(__half, __half_raw, float_to_half, half_to_float)
CUTEGEN_EMU_HALF_TYPE(__nv_bfloat16, __nv_bfloat16_raw, float_to_bfloat16, bfloat16_to_float)
#undef CUTEGEN_EMU_HALF_TYPE

typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline float __half2float(__half x) { return x; }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half __int2half_rn(int x) { return x; }
inline __half __uint2half_rn(unsigned x) { return x; }
inline int __half2int_rn(__half x) { return int(nearbyintf(float(x))); }
inline int __half2int_rz(__half x) { return int(float(x)); }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {__nv_bfloat16(x), __nv_bfloat16(x)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16_raw{x}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
