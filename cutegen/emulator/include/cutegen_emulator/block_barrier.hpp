// __syncthreads: the threads of a block wait for each other. Those that have ended are not missed.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline void Machine::release_barrier(int rank) {
  Block& block = blocks_[rank];
  block.barrier_count = block.predicate_sum;
  block.barrier_threads = block.at_barrier;
  block.predicate_sum = block.at_barrier = block.barrier_line = 0;
  bool const backwards = launch_->order == Order::kReverse;
  for (int i = 0; i < threads_; ++i) {
    int const fiber = rank * stride_ + (backwards ? threads_ - 1 - i : i);
    if (fibers_[fiber].wait == Wait::kBlock) make_ready(fiber);
  }
}

// Whether any thread's predicate was true.
inline bool Machine::wait_at_barrier(bool predicate, int line, char const* what) {
  Fiber& fiber = fibers_[current_];
  Block& block = blocks_[active_];
  fiber.wait = Wait::kBlock;
  fiber.parking = {what, line};
  block.predicate_sum += predicate;
  if (block.at_barrier++ == 0) block.barrier_line = line;
  if (block.barrier_line != line && !launch_->warned.exchange(true)) {
    fprintf(stderr,
            "cutegen emulator: warning: divergent barrier in %s: %s waits at line %d, others at "
            "line %d; on a GPU this may hang\n",
            launch_->kernel, where(current_).c_str(), line, block.barrier_line);
  }
  if (block.at_barrier == block.alive) release_barrier(active_);
  suspend();
  return block.barrier_count > 0;
}

}  // namespace cutegen_emu
