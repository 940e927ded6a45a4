// The sixteen barriers of a block that have numbers: any threads may meet there (PTX: barrier).
#pragma once

#include <cutegen_emulator/hopper/asynchronous.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline std::string describe_named_barrier(void const* subject) {
  NamedBarrier const& b = *static_cast<NamedBarrier const*>(subject);
  NamedBarrier const* first = Asynchronous::now().named.data();
  return "named barrier " + std::to_string((&b - first) % Asynchronous::kNamedBarriers) + " has " +
         std::to_string(b.arrived) + " of " + std::to_string(b.expected) + " threads";
}

inline void meet_at_named_barrier(uint32_t id, uint32_t threads, bool waits, char const* what,
                                  int line) {
  if (id >= Asynchronous::kNamedBarriers) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + ": a block has the barriers 0 to 15, this is number " +
                      std::to_string(id),
                  line);
  }
  if (threads == 0 || threads % kWarp || int(threads) > machine->stride()) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + " for " + std::to_string(threads) +
                      " threads: whole warps meet there, and no more than the block has",
                  line);
  }
  NamedBarrier& barrier =
      Asynchronous::now().named[machine->block_rank() * Asynchronous::kNamedBarriers + id];
  if (barrier.arrived && barrier.expected != threads) {
    machine->fail(Fault::kDivergence, cudaErrorLaunchFailure,
                  std::string(what) + ": " + std::to_string(threads) +
                      " threads are expected here, " + std::to_string(barrier.expected) +
                      " at line " + std::to_string(barrier.line),
                  line);
  }
  checking::release(&barrier);
  if (barrier.arrived++ == 0) barrier.line = line;
  barrier.expected = threads;
  if (barrier.arrived == threads) {
    barrier.arrived = 0;
    for (int fiber : barrier.waiters) Asynchronous::now().wake(fiber);
    barrier.waiters.clear();
  } else if (waits) {
    barrier.waiters.push_back(machine->current());
    machine->park({what, line, &barrier, describe_named_barrier});
  }
  if (waits) checking::acquire(&barrier);
}

}  // namespace cutegen_emu
