// Operands of a warpgroup's product in shared memory, as their 64-bit descriptors say.
#pragma once

#include <cutegen_emulator/half_bits.hpp>
#include <cutegen_emulator/hopper/asynchronous.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Fields of a descriptor, in bytes. PTX ISA, "Matrix descriptor".
struct OperandDescriptor {
  uint32_t start;
  uint32_t leading;
  uint32_t stride;
  unsigned swizzle;  // as of TensorMap: 0 for none, 3 for 128 bytes

  explicit OperandDescriptor(uint64_t bits)
      : start(uint32_t(bits & 0x3fff) << 4),
        leading(uint32_t(bits >> 16 & 0x3fff) << 4),
        stride(uint32_t(bits >> 32 & 0x3fff) << 4),
        swizzle((4 - unsigned(bits >> 62)) & 3) {}

  // Offset of a run of 16 bytes. Along the major axis it is run number `run`, and across it
  // line number `line`. The canonical layouts are those of CUTLASS's mma_traits_sm90_gmma.hpp.
  uint32_t offset(bool k_major, uint32_t line, uint32_t run) const {
    uint32_t const width = 1u << swizzle;  // runs in a swizzled row
    uint32_t const within = line % 8 * 16 * width;
    if (k_major) {
      return within + line / 8 * stride + (swizzle ? run * 16 : run * leading);
    }
    if (swizzle == 0) return within + run * stride + line / 8 * leading;
    return within + run % width * 16 + run / width * leading + line / 8 * stride;
  }
};

template <class T>
inline float operand_value(T x) {
  if constexpr (sizeof(T) == 4) {
    return bits_float(float_bits(float(x)) & ~0x1fffu);  // tf32: the hardware drops 13 bits
  } else {
    return float(x);
  }
}

// Calls f(line, run, address) for each 16 bytes of an operand of mn x k elements.
template <class T, class F>
inline void for_each_run(uint64_t bits, bool k_major, int mn, int k, char* base, F const& f) {
  OperandDescriptor const descriptor(bits);
  constexpr int kRun = 16 / sizeof(T);
  int const lines = k_major ? mn : k;
  int const runs = (k_major ? k : mn) / kRun;
  uintptr_t const start = reinterpret_cast<uintptr_t>(base) + descriptor.start;
  for (int line = 0; line < lines; ++line) {
    for (int run = 0; run < runs; ++run) {
      uintptr_t const at = start + descriptor.offset(k_major, line, run);
      f(line, run, reinterpret_cast<char*>(swizzled(at, descriptor.swizzle)));
    }
  }
}

// The operand as out[k][mn].
template <class T, class Value>
inline void read_operand(uint64_t bits, bool k_major, int mn, int k, char* base, Value* out) {
  constexpr int kRun = 16 / sizeof(T);
  for_each_run<T>(bits, k_major, mn, k, base, [&](int line, int run, char* address) {
    T values[kRun];
    memcpy(values, address, 16);
    for (int i = 0; i < kRun; ++i) {
      int const along = run * kRun + i;
      Value& element = k_major ? out[along * mn + line] : out[line * mn + along];
      if constexpr (std::is_integral<Value>::value) {
        element = Value(values[i]);
      } else {
        element = operand_value(values[i]);
      }
    }
  });
}

}  // namespace cutegen_emu
