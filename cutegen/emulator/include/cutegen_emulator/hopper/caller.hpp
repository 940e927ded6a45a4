// The candidate's line for what happens several calls deep in CUTLASS: the rewriter has some calls
// say where they stand, and a function that a candidate calls itself knows by its default argument.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Written by the rewriter into the first argument of calls that lead into CUTLASS.
inline void here(int line) {
  if (machine && machine->on_fiber()) machine->fiber(machine->current()).line = line;
}

// What `here` said last.
inline int caller_line() {
  return machine && machine->on_fiber() ? machine->fiber(machine->current()).line : 0;
}

// A default argument: the line of the call if the candidate calls, else what `here` said last.
struct Caller {
  int line;
  Caller(int line = __builtin_LINE(), char const* file = __builtin_FILE()) : line(line) {
    // The candidate is compiled by a relative path, headers have absolute ones.
    if (file[0] == '/') this->line = caller_line();
  }
};

}  // namespace cutegen_emu
