// cp.async.mbarrier.arrive: a thread arrives at a barrier when its copies are done.
#pragma once

#include <cutegen_emulator/atoms/async_copies.hpp>
#include <cutegen_emulator/hopper/mbarrier.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline void arrive_after_copies(uint64_t const* word, bool counts, Caller caller) {
  TransactionBarrier& barrier =
      require_mbarrier(word, "an arrival of asynchronous copies", caller.line);
  if (!counts) {  // one arrival more is waited for than the barrier was initialised with
    ++barrier.pending;
    mirror(word, barrier);
  }
  checking::release(word);
  async_copies().after_prior(
      [](void* argument) {
        auto const* at = static_cast<uint64_t const*>(argument);
        auto& barriers = Asynchronous::now().barriers;
        auto const found = barriers.find(at);
        if (found == barriers.end() || found->second.pending == 0) return;  // others have seen that
        --found->second.pending;
        settle(at, found->second);
      },
      const_cast<uint64_t*>(word));
}

}  // namespace cutegen_emu

namespace cutlass::arch {

inline void cpasync_barrier_arrive(uint64_t const* barrier, cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive_after_copies(barrier, false, caller);
}

inline void cpasync_barrier_arrive_noinc(uint64_t const* barrier, cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive_after_copies(barrier, true, caller);
}

}  // namespace cutlass::arch
