// Shared memory of a block. The rewriter turns declarations into calls of these functions.
#pragma once

#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/shared_memory.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline std::atomic<int> shared_variables{0};

// A static variable of the block. The type of `Here`, a closure written at the declaration,
// keeps variables of different declarations and different instantiations apart.
template <class T, class Here>
__attribute__((always_inline)) inline T& shared(Here, size_t align = 1) {
  static int const id = shared_variables++;
  Machine& m = *machine;
  char* place = m.shared().variable(id, sizeof(T), std::max(align, alignof(T)));
  if (m.block_count() > 1) {  // the blocks of a cluster find each other's variables by offset
    for (int rank = 0; rank < m.block_count(); ++rank) {
      m.block(rank).shared->variable(id, sizeof(T), std::max(align, alignof(T)));
    }
  }
  // ptxas 13.0 takes 227 KiB of static variables for sm_90a, and 48 KiB for sm_90 and older.
  if (!place || m.shared().static_bytes() + m.shared().dynamic_bytes() > kSmemOptIn) {
    m.fail(Fault::kSmemLimit, cudaErrorInvalidKernelImage,
           "static and dynamic shared memory exceed the 227 KiB that a block of sm_90a has");
  }
  return *reinterpret_cast<T*>(place);
}

// What `alignas(T)` asks for.
template <class T>
constexpr size_t alignment() {
  return alignof(T);
}

// `extern __shared__ T name[]`: T is the array of unknown bound.
template <class T>
__attribute__((always_inline)) inline T& dynamic_shared() {
  return reinterpret_cast<T&>(*machine->shared().dynamic());
}

// The same at namespace scope, where every OS thread binds its own reference once.
Machine& own_machine();

template <class T>
T& shared_global(size_t align = 1) {
  return *reinterpret_cast<T*>(
      own_machine().shared().global(sizeof(T), std::max(align, alignof(T))));
}

template <class T>
T& dynamic_shared_global() {
  return reinterpret_cast<T&>(*own_machine().shared().dynamic());
}

}  // namespace cutegen_emu
