#pragma once
#include <cutegen_emulator/machine.hpp>
#if __has_include(<cutegen_emulator/checking.hpp>)
#include <cutegen_emulator/checking.hpp>
namespace cutegen_emu __attribute__((visibility("hidden"))) {
inline bool watched() { return machine->launch().watched; }
}
#else
namespace cutegen_emu __attribute__((visibility("hidden"))) {
inline bool watched() { return false; }
namespace checking {
inline void release(void const*) {}
inline void acquire(void const*) {}
inline void reads(void const*, size_t) {}
inline void writes(void const*, size_t) {}
struct Unwatched { Unwatched() {} };
}
}
#endif
