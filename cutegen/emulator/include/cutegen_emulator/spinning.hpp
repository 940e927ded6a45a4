// Threads that wait in a loop over an atomic: others must run meanwhile, and when nothing moves
// any more it is a deadlock, not an endless loop.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline constexpr unsigned kSpinsPerTurn = 64;
inline constexpr unsigned kSpinsOfNoDoubt = 1 << 16;
inline constexpr auto kPatience = std::chrono::milliseconds(500);

// Every atomic operation comes here, as each may be one of a loop.
void Machine::breathe(Parking const& loop) {
  if (++spins_ % kSpinsPerTurn == 0) rest(loop);
}

void Machine::rest(Parking const& loop) {
  int const fiber = current_;
  make_ready(fiber);
  fibers_[fiber].wait = Wait::kSpinning;
  fibers_[fiber].parking = loop;
  suspend();
  if (++spins_ > kSpinsOfNoDoubt) look_for_livelock();
  fibers_[fiber].wait = Wait::kNothing;
}

// Something happened that a spinning thread may have waited for.
void Machine::progressed() {
  spins_ = 0;
  if (!spinning_) return;
  spinning_ = false;
  --launch_->spinning;
}

void Machine::look_for_livelock() {
  if (release_stalled()) return progressed();
  auto const now = std::chrono::steady_clock::now();
  uint64_t const progress = launch_->progress.load(std::memory_order_relaxed);
  if (!spinning_ || progress != progress_seen_) {
    if (!spinning_) ++launch_->spinning;
    spinning_ = true;
    progress_seen_ = progress;
    spinning_since_ = now;
    return;
  }
  // A machine that computes may still write what is waited for.
  if (now - spinning_since_ < kPatience || launch_->spinning < launch_->running) return;
  spinning_since_ = now;
  switch (launch_->run_more_blocks(launch_->dispatcher)) {
    case MoreBlocks::kStarted:
      return;
    case MoreBlocks::kTooMany:
      fail(Fault::kEnvironment, cudaErrorNotSupported,
           "its blocks wait for each other, and they are more than the emulator runs at a time; "
           "judge this candidate with `--executor cuda`",
           fibers_[current_].parking.line);
    case MoreBlocks::kNone:
      if (!launch_->failed.exchange(true)) report_deadlock();
      suspend();  // for ever
  }
}

}  // namespace cutegen_emu
