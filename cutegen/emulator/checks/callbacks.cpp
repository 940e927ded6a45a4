// What the compiler calls (-fsanitize=thread) at every access and every call of a kernel, in the
// place of its own library. Outside of a kernel's threads nothing is watched.
#include <cuda_runtime.h>

#include "watcher.hpp"

using cutegen_emu::machine;
using namespace cutegen_emu::checking;

namespace {

inline bool on_fiber() { return machine && machine->on_fiber(); }
inline Watcher* watching() {
  return on_fiber() && !Unwatched::depth ? machine->watcher : nullptr;
}

inline void access(void const* address, size_t bytes, Kind kind, void const* caller) {
  if (Watcher* watcher = watching()) {
    watcher->access(reinterpret_cast<uintptr_t>(address), bytes, kind, caller);
  }
}

std::string place_of(void const* caller) {
  char text[24];
  snprintf(text, sizeof(text), "{at:%x}", offset_of(caller));
  return text;
}

std::string at_place(void const* caller) { return "at " + place_of(caller); }

// Volatile accesses are how old kernels wait for each other: they order as atomics do.
void access_volatile(void const* address, size_t bytes, bool writes, void const* caller) {
  if (!on_fiber()) return;
  if (writes) release(address);
  access(address, bytes, writes ? Kind::kAtomicWrite : Kind::kAtomicRead, caller);
  if (writes) return machine->progressed();
  machine->breathe({"a loop over a volatile variable", 0, caller, at_place});
  acquire(address);
}

void access_atomic(void const volatile* address, size_t bytes, void const* caller,
                   Kind kind = Kind::kUpdate) {
  if (!watching()) return;
  void const* const subject = const_cast<void const*>(address);
  acquire(subject);
  access(subject, bytes, kind, caller);
  release(subject);
}

}  // namespace

#define CALLBACK extern "C" __attribute__((visibility("hidden")))
#define CALLER __builtin_return_address(0)

CALLBACK void __tsan_init() {}
CALLBACK void __tsan_func_entry(void* caller) {
  if (Watcher* watcher = watching()) watcher->enter(caller);
}
CALLBACK void __tsan_func_exit() {
  if (Watcher* watcher = watching()) watcher->leave();
}
CALLBACK void __tsan_vptr_update(void**, void*) {}
CALLBACK void __tsan_vptr_read(void**) {}
CALLBACK void __tsan_read_range(void* p, size_t bytes) { access(p, bytes, Kind::kRead, CALLER); }
CALLBACK void __tsan_write_range(void* p, size_t bytes) { access(p, bytes, Kind::kWrite, CALLER); }

#define OF_SIZE(N)                                                                               \
  CALLBACK void __tsan_read##N(void* p) { access(p, N, Kind::kRead, CALLER); }                   \
  CALLBACK void __tsan_write##N(void* p) { access(p, N, Kind::kWrite, CALLER); }                 \
  CALLBACK void __tsan_unaligned_read##N(void* p) { access(p, N, Kind::kRead, CALLER); }  \
  CALLBACK void __tsan_unaligned_write##N(void* p) { access(p, N, Kind::kWrite, CALLER); } \
  CALLBACK void __tsan_volatile_read##N(void* p) { access_volatile(p, N, false, CALLER); }       \
  CALLBACK void __tsan_volatile_write##N(void* p) { access_volatile(p, N, true, CALLER); }       \
  CALLBACK void __tsan_unaligned_volatile_read##N(void* p) {                                     \
    access_volatile(p, N, false, CALLER);                                                        \
  }                                                                                              \
  CALLBACK void __tsan_unaligned_volatile_write##N(void* p) {                                    \
    access_volatile(p, N, true, CALLER);                                                         \
  }
OF_SIZE(1) OF_SIZE(2) OF_SIZE(4) OF_SIZE(8) OF_SIZE(16)

// The compiler hands atomics over altogether; here they are done, in the strongest order.
#define FETCH(BITS, T, NAME)                                                             \
  CALLBACK T __tsan_atomic##BITS##_##NAME(T volatile* p, T value, int) {                 \
    access_atomic(p, sizeof(T), CALLER);                                                 \
    return __atomic_##NAME(p, value, __ATOMIC_SEQ_CST);                                  \
  }
#define EXCHANGE(BITS, T, STRENGTH)                                                      \
  CALLBACK int __tsan_atomic##BITS##_compare_exchange_##STRENGTH(T volatile* p, T* expected, \
                                                                 T desired, int, int) {  \
    access_atomic(p, sizeof(T), CALLER);                                                 \
    return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST,    \
                                       __ATOMIC_SEQ_CST);                                \
  }
#define ATOMICS(BITS, T)                                                                 \
  CALLBACK T __tsan_atomic##BITS##_load(T const volatile* p, int) {                      \
    access_atomic(p, sizeof(T), CALLER, Kind::kAtomicRead);                                                 \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                         \
  }                                                                                      \
  CALLBACK void __tsan_atomic##BITS##_store(T volatile* p, T value, int) {               \
    access_atomic(p, sizeof(T), CALLER, Kind::kAtomicWrite);                                                 \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                      \
  CALLBACK T __tsan_atomic##BITS##_exchange(T volatile* p, T value, int) {               \
    access_atomic(p, sizeof(T), CALLER);                                                 \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                              \
  }                                                                                      \
  FETCH(BITS, T, fetch_add)                                                              \
  FETCH(BITS, T, fetch_sub)                                                              \
  FETCH(BITS, T, fetch_and)                                                              \
  FETCH(BITS, T, fetch_or)                                                               \
  FETCH(BITS, T, fetch_xor)                                                              \
  FETCH(BITS, T, fetch_nand)                                                             \
  EXCHANGE(BITS, T, strong)                                                              \
  EXCHANGE(BITS, T, weak)                                                                \
  CALLBACK T __tsan_atomic##BITS##_compare_exchange_val(T volatile* p, T expected, T desired, \
                                                        int, int) {                      \
    access_atomic(p, sizeof(T), CALLER);                                                 \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST,          \
                                __ATOMIC_SEQ_CST);                                       \
    return expected;                                                                     \
  }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

CALLBACK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
CALLBACK void __tsan_atomic_signal_fence(int) {}

// -fsanitize=alignment: an access of a type that its address is not aligned for, which a GPU
// refuses. `site` begins with a file name and two numbers; then comes what the type asks for.
struct AccessSite {
  char const* file;
  uint32_t line;
  uint32_t column;
  void const* type;
  unsigned char log_alignment;
};

CALLBACK [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(AccessSite const* site,
                                                                 uintptr_t address) {
  std::string const why = "an access at an address that is a multiple of " +
                          std::to_string(address & -address) + " bytes only, not of " +
                          std::to_string(1u << site->log_alignment);
  if (on_fiber()) {
    Watcher const* watcher = machine->watcher;
    machine->fail(cudaErrorMisalignedAddress,
                  (watcher ? watcher->place_of(CALLER) : place_of(CALLER)) + ": " + why);
  }
  fprintf(stderr, "cutegen emulator: host code at %s:%u: %s\n", site->file, site->line,
          why.c_str());
  abort();
}

// The C library's functions are not compiled here: the linker puts these before them.
extern "C" void* __real_memcpy(void* target, void const* source, size_t bytes);
extern "C" void* __real_memmove(void* target, void const* source, size_t bytes);
extern "C" void* __real_memset(void* target, int byte, size_t bytes);

CALLBACK void* __wrap_memcpy(void* target, void const* source, size_t bytes) {
  access(source, bytes, Kind::kRead, CALLER);
  access(target, bytes, Kind::kWrite, CALLER);
  return __real_memcpy(target, source, bytes);
}
CALLBACK void* __wrap_memmove(void* target, void const* source, size_t bytes) {
  access(source, bytes, Kind::kRead, CALLER);
  access(target, bytes, Kind::kWrite, CALLER);
  return __real_memmove(target, source, bytes);
}
CALLBACK void* __wrap_memset(void* target, int byte, size_t bytes) {
  access(target, bytes, Kind::kWrite, CALLER);
  return __real_memset(target, byte, bytes);
}
