// Integer intrinsics, and the reinterpretation of bits.
#pragma once

#include <cutegen_emulator/standard.hpp>

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

// Four bytes picked out of eight; bit 3 of a selector spreads the byte's sign instead.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  uint64_t const bytes = uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned const selector = selectors >> (4 * i) & 0xf;
    unsigned byte = unsigned(bytes >> (8 * (selector & 7)) & 0xff);
    if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

inline int __mulhi(int x, int y) { return int((int64_t(x) * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((uint64_t(x) * y) >> 32); }
inline long long __mul64hi(long long x, long long y) {
  return (long long)((__int128(x) * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)(((unsigned __int128)(x)*y) >> 64);
}
inline int __mul24(int x, int y) { return int(unsigned(x << 8 >> 8) * unsigned(y << 8 >> 8)); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((uint64_t(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}

inline int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 4; ++i) sum += int(int8_t(x >> (8 * i))) * int8_t(y >> (8 * i));
  return sum;
}
inline unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 4; ++i) sum += (x >> (8 * i) & 0xff) * (y >> (8 * i) & 0xff);
  return sum;
}

#define CUTEGEN_EMU_REINTERPRET(NAME, FROM, TO) \
  inline TO NAME(FROM value) {                  \
    TO result;                                  \
    memcpy(&result, &value, sizeof(result));    \
    return result;                              \
  }
CUTEGEN_EMU_REINTERPRET(__float_as_int, float, int)
CUTEGEN_EMU_REINTERPRET(__float_as_uint, float, unsigned)
CUTEGEN_EMU_REINTERPRET(__int_as_float, int, float)
CUTEGEN_EMU_REINTERPRET(__uint_as_float, unsigned, float)
CUTEGEN_EMU_REINTERPRET(__double_as_longlong, double, long long)
CUTEGEN_EMU_REINTERPRET(__longlong_as_double, long long, double)
#undef CUTEGEN_EMU_REINTERPRET

inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)(uint64_t(uint32_t(high)) << 32 | uint32_t(low)));
}

inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
