// Whether somebody wants to know what copies read and write.
#pragma once

#include <cutegen_emulator/checking.hpp>
#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline bool watched() { return machine->launch().watched; }

}  // namespace cutegen_emu
