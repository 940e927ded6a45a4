// When no thread can run: what was put off is done, or else it is a deadlock, and reported.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

bool Machine::release_stalled() {
  if (release_active_masks()) return true;
  bool released = false;
  for (OnStall handler : on_stall_) released = handler(*this) || released;
  return released;
}

std::string Machine::where(int fiber) const {
  if (fiber < 0) return "no thread";
  auto triple = [](uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
  };
  return "thread " + triple(fibers_[fiber].index) + " of block " +
         triple(blocks_[fibers_[fiber].block].index);
}

// Lanes of one warp that stand at different collectives, or some at the block's barrier: what a
// GPU does with them is undefined, and it need not hang. A lane that is parked or spins has a
// reason of its own, and then that is the deadlock.
bool Machine::warps_diverge() const {
  bool diverged = false;
  for (size_t f = 0; f < fibers_.size(); ++f) {
    Wait const wait = fibers_[f].wait;
    if (wait == Wait::kParked || wait == Wait::kSpinning) return false;
    diverged = diverged || wait == Wait::kWarp;
  }
  return diverged;
}

// Who waits where: threads of a block that wait alike are one line of the text.
void Machine::report_deadlock() {
  auto alike = [](Fiber const& a, Fiber const& b) {
    return b.wait == a.wait && a.block == b.block && a.parking.line == b.parking.line &&
           a.parking.what == b.parking.what && a.parking.subject == b.parking.subject;
  };
  int waiting = 0;
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
    waiting += same;
    Parking const& parking = fiber.parking;
    text += '\x1f' + std::to_string(same) + (same == 1 ? " waits" : " wait") +
            (parking.line ? " at line " + std::to_string(parking.line) : "") + " in " +
            parking.what + ", first " + where(int(f));
    if (parking.describe) text += ": " + parking.describe(parking.subject);
  }
  bool const diverged = warps_diverge();
  report("fault", diverged ? Fault::kDivergence : Fault::kDeadlock, launch_->kernel,
         (diverged ? "lanes of a warp wait in different places, for ever: "
                   : "deadlock, nothing can move any more: ") +
             std::to_string(waiting) + " threads wait, " +
             std::to_string(threads_ * block_count() - alive_) + " have ended" + text);
  record_sticky(cudaErrorLaunchFailure);
}

void Machine::note(Fault fault, std::string const& what) {
  report("note", fault, launch_->kernel, what);
}

void Machine::fail(cudaError_t error, std::string const& why, int line) {
  fail(fault_of(error), error, why, line);
}

void Machine::fail(Fault fault, cudaError_t error, std::string const& why, int line) {
  give_up(fault, error,
          (line ? "line " + std::to_string(line) + ": " : "") + why + " (" + where(current_) + ")");
}

void Machine::give_up(Fault fault, cudaError_t error, std::string const& text) {
  if (!launch_->failed.exchange(true)) {
    report("fault", fault, launch_->kernel, text);
    record_sticky(error);
  }
  suspend();  // for ever: the block is given up
  __builtin_unreachable();
}

}  // namespace cutegen_emu
