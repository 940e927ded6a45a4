// Loads and stores with cache hints, which mean nothing to a CPU's results.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The GPU traps on a vector access that is not aligned; here it would just work.
template <class T>
inline void require_alignment(T const* address, char const* what) {
  if (reinterpret_cast<uintptr_t>(address) % alignof(T) && machine && machine->on_fiber()) {
    machine->fail(cudaErrorMisalignedAddress,
                  std::string(what) + " of " + std::to_string(sizeof(T)) +
                      " bytes at an address that is no multiple of " +
                      std::to_string(alignof(T)));
  }
}

}  // namespace cutegen_emu

#define CUTEGEN_EMU_LOAD(NAME)                         \
  template <class T>                                   \
  inline T NAME(T const* address) {                    \
    cutegen_emu::require_alignment(address, #NAME);    \
    return *address;                                   \
  }
CUTEGEN_EMU_LOAD(__ldg)
CUTEGEN_EMU_LOAD(__ldca)
CUTEGEN_EMU_LOAD(__ldcg)
CUTEGEN_EMU_LOAD(__ldcs)
CUTEGEN_EMU_LOAD(__ldlu)
CUTEGEN_EMU_LOAD(__ldcv)
#undef CUTEGEN_EMU_LOAD

#define CUTEGEN_EMU_STORE(NAME)                                                     \
  template <class T>                                                                \
  inline void NAME(T* address, typename std::common_type<T>::type value) {          \
    cutegen_emu::require_alignment(address, #NAME);                                 \
    *address = value;                                                               \
  }
CUTEGEN_EMU_STORE(__stwb)
CUTEGEN_EMU_STORE(__stcg)
CUTEGEN_EMU_STORE(__stcs)
CUTEGEN_EMU_STORE(__stwt)
#undef CUTEGEN_EMU_STORE

#define __builtin_assume(condition) ((void)0)
