// Atomic operations, for the types that CUDA has them for. Blocks run on several OS threads, so
// these are real ones.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// A loop over an atomic is how kernels wait for each other.
inline void breathe(char const* what, int line) {
  if (machine && machine->on_fiber()) machine->breathe({what, line});
}

// A new value may end the wait of other threads, of this block or of another.
inline void changed() {
  if (!machine || !machine->on_fiber()) return;
  machine->progressed();
  machine->launch().progress.fetch_add(1, std::memory_order_relaxed);
}

// old = *address; *address = f(old), at once. T has 2, 4 or 8 bytes.
template <class T, class F>
inline T update(T* address, F const& f, char const* what, int line) {
  breathe(what, line);
  T old;
  __atomic_load(address, &old, __ATOMIC_SEQ_CST);
  for (;;) {
    T desired = f(old);
    if (__atomic_compare_exchange(address, &old, &desired, true, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST)) {
      return old;
    }
  }
}

template <class T>
inline T compare_and_swap(T* address, T expected, T desired, int line) {
  breathe("atomicCAS", line);
  if (__atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST)) {
    changed();
  }
  return expected;
}

}  // namespace cutegen_emu

#define CUTEGEN_EMU_ATOMIC_SCOPE(NAME, T, EXPRESSION)                             \
  inline T NAME(T* address, T value, int line = __builtin_LINE()) {               \
    return cutegen_emu::update(                                                   \
        address, [=](T old) -> T { return EXPRESSION; }, #NAME, line);            \
  }
#define CUTEGEN_EMU_ATOMIC(NAME, T, EXPRESSION)          \
  CUTEGEN_EMU_ATOMIC_SCOPE(NAME, T, EXPRESSION)          \
  CUTEGEN_EMU_ATOMIC_SCOPE(NAME##_block, T, EXPRESSION)  \
  CUTEGEN_EMU_ATOMIC_SCOPE(NAME##_system, T, EXPRESSION)
#define CUTEGEN_EMU_ATOMIC_INTEGER(T)                          \
  CUTEGEN_EMU_ATOMIC(atomicAdd, T, old + value) \
  CUTEGEN_EMU_ATOMIC(atomicSub, T, old - value) \
  CUTEGEN_EMU_ATOMIC(atomicExch, T, value)                     \
  CUTEGEN_EMU_ATOMIC(atomicMin, T, value < old ? value : old)  \
  CUTEGEN_EMU_ATOMIC(atomicMax, T, old < value ? value : old)  \
  CUTEGEN_EMU_ATOMIC(atomicAnd, T, old & value) \
  CUTEGEN_EMU_ATOMIC(atomicOr, T, old | value) \
  CUTEGEN_EMU_ATOMIC(atomicXor, T, old ^ value) \
  inline T atomicCAS(T* address, T expected, T desired,        \
                     int line = __builtin_LINE()) {            \
    return cutegen_emu::compare_and_swap(address, expected, desired, line); \
  }

CUTEGEN_EMU_ATOMIC_INTEGER(int)
CUTEGEN_EMU_ATOMIC_INTEGER(unsigned)
CUTEGEN_EMU_ATOMIC_INTEGER(unsigned long long)
CUTEGEN_EMU_ATOMIC(atomicMin, long long, value < old ? value : old)
CUTEGEN_EMU_ATOMIC(atomicMax, long long, old < value ? value : old)
CUTEGEN_EMU_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
CUTEGEN_EMU_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
CUTEGEN_EMU_ATOMIC(atomicAdd, float, old + value)
CUTEGEN_EMU_ATOMIC(atomicAdd, double, old + value)
CUTEGEN_EMU_ATOMIC(atomicExch, float, value)

#undef CUTEGEN_EMU_ATOMIC_INTEGER
#undef CUTEGEN_EMU_ATOMIC
#undef CUTEGEN_EMU_ATOMIC_SCOPE

inline unsigned short atomicCAS(unsigned short* address, unsigned short expected,
                                unsigned short desired, int line = __builtin_LINE()) {
  return cutegen_emu::compare_and_swap(address, expected, desired, line);
}

// sm_90 adds vectors to global memory, each element atomically by itself.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
          atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
}
