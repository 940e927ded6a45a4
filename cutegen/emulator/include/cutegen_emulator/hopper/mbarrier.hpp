// Barriers in shared memory that count arrivals and, for copies, bytes (PTX: mbarrier).
#pragma once

#include <cutegen_emulator/hopper/asynchronous.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline uint64_t word_of(TransactionBarrier const& barrier) {
  return uint64_t(barrier.phase & 1) << 63 | uint64_t(barrier.expected) << 42 |
         uint64_t(barrier.pending) << 21 | (uint64_t(barrier.bytes) & 0x1fffff);
}

inline void mirror(uint64_t const* word, TransactionBarrier const& barrier) {
  checking::Unwatched own;
  *const_cast<uint64_t*>(word) = word_of(barrier);
}

inline std::string origin_of(TransactionBarrier const& barrier) {
  return barrier.line ? " initialised at line " + std::to_string(barrier.line) : std::string();
}

inline std::string describe_mbarrier(void const* subject) {
  TransactionBarrier const& b =
      Asynchronous::now().barriers[static_cast<uint64_t const*>(subject)];
  return "the barrier" + origin_of(b) + " is in phase " + std::to_string(b.phase & 1) + ", and lacks " + std::to_string(b.pending) + " of " +
         std::to_string(b.expected) + " arrivals" +
         (b.bytes > 0   ? " and " + std::to_string(b.bytes) + " bytes"
          : b.bytes < 0 ? "; " + std::to_string(-b.bytes) + " bytes more than expected have come"
                        : std::string());
}

inline void initialize_mbarrier(uint64_t const* word, uint32_t arrivals, int line) {
  require_shared(word, 8, "the initialisation of a barrier", line);
  if (arrivals == 0 || arrivals >= 1u << 20) {
    machine->fail(cudaErrorLaunchFailure, "a barrier for " + std::to_string(arrivals) +
                                              " arrivals; 1 to 1048575 are possible", line);
  }
  TransactionBarrier barrier;
  barrier.expected = barrier.pending = arrivals;
  barrier.line = line;
  checking::writes(word, 8);
  mirror(word, barrier);
  Asynchronous::now().barriers[word] = barrier;
}

// The barrier at an address; a fault if there is none, or none any more.
inline TransactionBarrier& require_mbarrier(uint64_t const* word, char const* what, int line) {
  require_shared(word, 8, what, line);
  auto& barriers = Asynchronous::now().barriers;
  auto const found = barriers.find(word);
  if (found == barriers.end()) {
    machine->fail(Fault::kUninitialized, cudaErrorLaunchFailure,
                  std::string(what) + ": nobody has initialised the barrier, or not yet: "
                  "after the initialisation the threads of the block (of the cluster) must wait "
                  "for each other",
                  line);
  }
  bool const intact = [&] {
    checking::Unwatched own;
    return *word == word_of(found->second);
  }();
  if (!intact) {
    machine->fail(Fault::kRace, cudaErrorLaunchFailure,
                  std::string(what) + " of a barrier" + origin_of(found->second) +
                      " that has been overwritten",
                  line);
  }
  return found->second;
}

// The phase ends when everybody and every byte have come.
inline void settle(uint64_t const* word, TransactionBarrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.pending = barrier.expected;
    std::vector<Waiter> waiters;
    waiters.swap(barrier.waiters);
    for (Waiter const& waiter : waiters) {
      if ((barrier.phase & 1) == waiter.parity) {
        barrier.waiters.push_back(waiter);
      } else {
        Asynchronous::now().wake(waiter.fiber);
      }
    }
    machine->progressed();
  }
  mirror(word, barrier);
}

inline void expect_bytes(uint64_t const* word, uint32_t bytes, char const* what, int line) {
  TransactionBarrier& barrier = require_mbarrier(word, what, line);
  barrier.bytes += bytes;
  if (barrier.bytes >= 1 << 20) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + ": a barrier can wait for 1048575 bytes at most", line);
  }
  settle(word, barrier);
}

inline void complete_bytes(uint64_t const* word, TransactionBarrier& barrier, uint32_t bytes) {
  barrier.bytes -= bytes;
  settle(word, barrier);
}

inline void arrive(uint64_t const* word, uint32_t bytes, char const* what, int line) {
  TransactionBarrier& barrier = require_mbarrier(word, what, line);
  if (barrier.pending == 0) {
    machine->fail(Fault::kRace, cudaErrorLaunchFailure,
                  std::string(what) + ": more threads arrive than the barrier expects in a phase; " +
                      describe_mbarrier(word),
                  line);
  }
  checking::release(word);
  barrier.bytes += bytes;
  --barrier.pending;
  settle(word, barrier);
}

// Whether the phase of that parity has ended: now, or by waiting. A timed wait gives up when
// nothing else can move, as the hardware's does after a while.
inline bool wait_for_phase(uint64_t const* word, uint32_t parity, bool timed, char const* what,
                           int line) {
  TransactionBarrier& barrier = require_mbarrier(word, what, line);
  if (((barrier.phase ^ parity) & 1) == 0) {
    Asynchronous& state = Asynchronous::now();
    int const fiber = machine->current();
    state.timed_out[fiber] = false;
    barrier.waiters.push_back({fiber, parity & 1, timed});
    machine->park({what, line, word, describe_mbarrier});
    if (state.timed_out[fiber]) return false;
  }
  checking::acquire(word);
  return true;
}

}  // namespace cutegen_emu
