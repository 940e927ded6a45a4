// When no thread can run: what was put off is done, or else it is a deadlock, and reported.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline bool Machine::release_stalled() {
  if (release_active_masks()) return true;
  bool released = false;
  for (OnStall handler : on_stall_) released = handler(*this) || released;
  return released;
}

inline std::string Machine::where(int fiber) const {
  auto triple = [](uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
  };
  return "thread " + triple(fibers_[fiber].index) + " of block " +
         triple(blocks_[fibers_[fiber].block].index);
}

// Who waits where: threads of a block that wait alike are one line of the text.
inline void Machine::report_deadlock() {
  auto alike = [](Fiber const& a, Fiber const& b) {
    return b.wait != Wait::kNothing && a.block == b.block && a.parking.line == b.parking.line &&
           a.parking.what == b.parking.what && a.parking.subject == b.parking.subject;
  };
  std::string text;
  std::vector<bool> told(fibers_.size());
  for (size_t f = 0; f < fibers_.size(); ++f) {
    Fiber const& fiber = fibers_[f];
    if (told[f] || fiber.wait == Wait::kNothing) continue;
    int same = 0;
    for (size_t g = f; g < fibers_.size(); ++g) {
      if (!alike(fiber, fibers_[g])) continue;
      told[g] = true;
      ++same;
    }
    text += "\n  " + std::to_string(same) + " wait at line " + std::to_string(fiber.parking.line) +
            " in " + fiber.parking.what + ", first " + where(int(f));
    if (fiber.parking.describe) text += ": " + fiber.parking.describe(fiber.parking.subject);
  }
  fprintf(stderr, "cutegen emulator: deadlock in %s: %d threads have ended, and%s\n",
          launch_->kernel, threads_ * block_count() - alive_, text.c_str());
}

inline void Machine::fail(cudaError_t error, std::string const& why) {
  if (!launch_->failed.exchange(true)) {
    fprintf(stderr, "cutegen emulator: %s in %s: %s\n", where(current_).c_str(), launch_->kernel,
            why.c_str());
    record_sticky(error);
  }
  suspend();  // for ever: the block is given up
  __builtin_unreachable();
}

}  // namespace cutegen_emu
