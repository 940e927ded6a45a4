// Loads and stores with cache hints, which mean nothing to a CPU's results.
#pragma once

#include <cutegen_emulator/machine.hpp>

#define CUTEGEN_EMU_LOAD(NAME)  \
  template <class T>            \
  inline T NAME(T const* address) { return *address; }
CUTEGEN_EMU_LOAD(__ldg)
CUTEGEN_EMU_LOAD(__ldca)
CUTEGEN_EMU_LOAD(__ldcg)
CUTEGEN_EMU_LOAD(__ldcs)
CUTEGEN_EMU_LOAD(__ldlu)
CUTEGEN_EMU_LOAD(__ldcv)
#undef CUTEGEN_EMU_LOAD

#define CUTEGEN_EMU_STORE(NAME)                                                     \
  template <class T>                                                                \
  inline void NAME(T* address, typename std::common_type<T>::type value) { *address = value; }
CUTEGEN_EMU_STORE(__stwb)
CUTEGEN_EMU_STORE(__stcg)
CUTEGEN_EMU_STORE(__stcs)
CUTEGEN_EMU_STORE(__stwt)
#undef CUTEGEN_EMU_STORE

#define __builtin_assume(condition) ((void)0)
