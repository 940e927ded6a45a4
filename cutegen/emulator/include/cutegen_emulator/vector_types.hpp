// CUDA's built-in vector types, with its alignments, and their makers.
#pragma once

#include <stdint.h>

#define CUTEGEN_EMU_VECTOR_TYPES(NAME, T, ALIGN2, ALIGN4)                             \
  struct NAME##1 {                                                                    \
    T x;                                                                              \
  };                                                                                  \
  struct alignas(ALIGN2) NAME##2 {                                                    \
    T x, y;                                                                           \
  };                                                                                  \
  struct NAME##3 {                                                                    \
    T x, y, z;                                                                        \
  };                                                                                  \
  struct alignas(ALIGN4) NAME##4 {                                                    \
    T x, y, z, w;                                                                     \
  };                                                                                  \
  constexpr NAME##1 make_##NAME##1(T x) { return {x}; }                               \
  constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                       \
  constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }               \
  constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

CUTEGEN_EMU_VECTOR_TYPES(char, signed char, 2, 4)
CUTEGEN_EMU_VECTOR_TYPES(uchar, unsigned char, 2, 4)
CUTEGEN_EMU_VECTOR_TYPES(short, short, 4, 8)
CUTEGEN_EMU_VECTOR_TYPES(ushort, unsigned short, 4, 8)
CUTEGEN_EMU_VECTOR_TYPES(int, int, 8, 16)
CUTEGEN_EMU_VECTOR_TYPES(uint, unsigned int, 8, 16)
CUTEGEN_EMU_VECTOR_TYPES(long, long, 16, 16)
CUTEGEN_EMU_VECTOR_TYPES(ulong, unsigned long, 16, 16)
CUTEGEN_EMU_VECTOR_TYPES(longlong, long long, 16, 16)
CUTEGEN_EMU_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
CUTEGEN_EMU_VECTOR_TYPES(float, float, 8, 16)
CUTEGEN_EMU_VECTOR_TYPES(double, double, 16, 16)

#undef CUTEGEN_EMU_VECTOR_TYPES

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
