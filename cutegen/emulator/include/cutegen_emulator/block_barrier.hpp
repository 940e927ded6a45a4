// __syncthreads: the threads of a block wait for each other. Those that have ended are not missed.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

void Machine::release_barrier(int rank) {
  Block& block = blocks_[rank];
  block.barrier_count = block.predicate_sum;
  block.barrier_threads = block.at_barrier;
  if (block.alive < threads_ && launch_->failed.load() == false) {
    note(Fault::kDivergence, "threads had ended when others waited at line " +
                                 std::to_string(block.barrier_line) +
                                 ": a barrier does not miss them since sm_70, older GPUs hang");
  }
  progressed();
  if (watcher) checking::block_met(*watcher, rank);
  block.predicate_sum = block.at_barrier = block.barrier_line = 0;
  bool const backwards = launch_->order == Order::kReverse;
  for (int i = 0; i < threads_; ++i) {
    int const fiber = rank * stride_ + (backwards ? threads_ - 1 - i : i);
    if (fibers_[fiber].wait == Wait::kBlock) make_ready(fiber);
  }
}

// Whether any thread's predicate was true.
bool Machine::wait_at_barrier(bool predicate, int line, char const* what) {
  Fiber& fiber = fibers_[current_];
  Block& block = blocks_[active_];
  fiber.wait = Wait::kBlock;
  fiber.parking = {what, line};
  block.predicate_sum += predicate;
  if (block.at_barrier++ == 0) block.barrier_line = line;
  if (block.barrier_line != line) {
    fail(Fault::kDivergence, cudaErrorLaunchFailure,
         std::string("threads of one block stand at different barriers: here ") + what +
             ", others at line " + std::to_string(block.barrier_line),
         line);
  }
  if (block.at_barrier == block.alive) release_barrier(active_);
  suspend();
  return block.barrier_count > 0;
}

}  // namespace cutegen_emu
