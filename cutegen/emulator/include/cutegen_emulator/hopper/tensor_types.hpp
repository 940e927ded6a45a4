// What TMA must know of a tensor's elements: the fill of what lies outside, the conversions on
// load, and the reductions.
#pragma once

#include <cuda.h>
#include <cutegen_emulator/hopper/copy.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Zeros, or the NaN that the hardware writes for floating types on request.
inline void fill_outside(TensorMap const& map, char* shared, size_t bytes) {
  memset(shared, 0, bytes);
  if (!map.nan_fill) return;
  uint64_t pattern = 0;
  switch (CUtensorMapDataType(map.type)) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: pattern = 0x7fff; break;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: pattern = 0x7fff; break;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: pattern = 0x7fffffffffffffff; break;
    default: pattern = 0x7fffffff; break;
  }
  size_t const element = size_t(map.stride[0]);
  for (size_t i = 0; i + element <= bytes; i += element) memcpy(shared + i, &pattern, element);
}

// A piece of the tensor as a load brings it to shared memory. Maps of TF32 round on the way, which
// CUTLASS's collectives of sm_90 count on; the low bits of what was rounded before must be clear,
// or it is rounded twice. FTZ flushes denormals, and keeps their sign.
inline void load_elements(TensorMap const& map, char* shared, char const* global, size_t bytes) {
  auto const type = CUtensorMapDataType(map.type);
  bool const rounds = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 ||
                      type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  bool const flushes = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ ||
                       type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  memcpy(shared, global, bytes);
  if (!rounds && !flushes) return;
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t bits;
    memcpy(&bits, shared + i, 4);
    if (flushes && (bits & 0x7f800000) == 0) bits &= 0x80000000;
    if (rounds) bits = round_to_tfloat32(bits);
    memcpy(shared + i, &bits, 4);
  }
}

template <class T>
inline T combine(Reduction reduction, T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    switch (reduction) {
      case Reduction::kAnd: return a & b;
      case Reduction::kOr: return a | b;
      case Reduction::kXor: return a ^ b;
      default: break;
    }
  }
  switch (reduction) {
    case Reduction::kMin: return b < a ? b : a;
    case Reduction::kMax: return a < b ? b : a;
    default: return a + b;
  }
}

// Each element by itself is atomic, as blocks of several OS threads add to one tensor.
template <class Word, class F>
inline void reduce_as(char* global, char const* shared, size_t bytes, F const& f) {
  for (size_t i = 0; i + sizeof(Word) <= bytes; i += sizeof(Word)) {
    Word addend;
    memcpy(&addend, shared + i, sizeof(Word));
    auto* target = reinterpret_cast<Word*>(global + i);
    Word old;
    __atomic_load(target, &old, __ATOMIC_SEQ_CST);
    for (;;) {
      Word next = f(old, addend);
      if (__atomic_compare_exchange(target, &old, &next, true, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        break;
      }
    }
  }
}

inline void reduce_elements(Copy const& copy, char* global, char const* shared, size_t bytes) {
  Reduction const reduction = copy.reduction;
  auto const by_value = [&](auto one) {
    using T = decltype(one);
    reduce_as<T>(global, shared, bytes, [&](T a, T b) { return combine(reduction, a, b); });
  };
  switch (CUtensorMapDataType(copy.map.type)) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
      return reduce_as<uint16_t>(global, shared, bytes, [&](uint16_t a, uint16_t b) {
        return float_to_half(combine(reduction, half_to_float(a), half_to_float(b)));
      });
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return reduce_as<uint16_t>(global, shared, bytes, [&](uint16_t a, uint16_t b) {
        return float_to_bfloat16(combine(reduction, bfloat16_to_float(a), bfloat16_to_float(b)));
      });
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return by_value(double{});
    case CU_TENSOR_MAP_DATA_TYPE_INT32: return by_value(int32_t{});
    case CU_TENSOR_MAP_DATA_TYPE_INT64: return by_value(int64_t{});
    case CU_TENSOR_MAP_DATA_TYPE_UINT32: return by_value(uint32_t{});
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: return by_value(uint64_t{});
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: return by_value(uint16_t{});
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return by_value(uint8_t{});
    default: return by_value(float{});
  }
}

}  // namespace cutegen_emu
