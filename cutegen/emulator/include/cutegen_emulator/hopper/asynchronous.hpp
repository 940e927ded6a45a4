// What the blocks of a cluster have under way besides their threads: barriers in shared memory,
// copies that have been ordered, products of warpgroups. One per machine, renewed by each cluster.
#pragma once

#include <cutegen_emulator/hopper/address.hpp>
#include <cutegen_emulator/hopper/copy.hpp>
#include <cutegen_emulator/hopper/warpgroup.hpp>

#include <deque>
#include <map>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

struct Waiter {
  int fiber;
  uint32_t parity;
  bool timed;  // goes on without the phase when nothing else can move
};

// An mbarrier. The word in shared memory mirrors it, so that an overwritten one is noticed.
struct TransactionBarrier {
  uint32_t expected = 0;
  uint32_t pending = 0;
  int64_t bytes = 0;  // announced and not yet arrived; below 0 while it is the other way round
  uint32_t phase = 0;
  int line = 0;
  std::vector<Waiter> waiters;
};

struct NamedBarrier {
  uint32_t expected = 0;
  uint32_t arrived = 0;
  int line = 0;
  std::vector<int> waiters;
};

struct ClusterBarrier {
  uint64_t completed = 0;
  std::vector<int> waiters;
};

class Asynchronous {
 public:
  static constexpr int kNamedBarriers = 16;
  static constexpr unsigned kMostTimeouts = 1 << 14;

  // Of the running machine, for its present cluster.
  static Asynchronous& now() { return of(*machine); }

  static Asynchronous& of(Machine& m);  // course.hpp

  void wake(int fiber) {
    ++woken_;
    timeouts_ = 0;
    machine->wake(fiber);
  }

  std::map<uint64_t const*, TransactionBarrier> barriers;
  std::vector<NamedBarrier> named;  // kNamedBarriers for each block
  ClusterBarrier cluster;
  std::vector<uint64_t> cluster_arrivals;  // by fiber: barriers it has arrived at
  std::vector<uint64_t> cluster_waits;     // by fiber: barriers it has waited for
  std::vector<bool> timed_out;             // by fiber: its last wait ended without the phase
  std::deque<Copy> loads;                  // ordered, not yet made
  std::vector<std::deque<StoreGroup>> stores;  // by fiber; the last group is not yet committed
  std::vector<Warpgroup> warpgroups;       // eight for each block
  std::vector<WarpgroupThread> products;   // by fiber

 private:
  // course.hpp
  void begin(Machine& m);
  // No thread can run: what was put off is done until one can.
  bool advance(Machine& m);
  void finish(Machine& m);

  uint64_t generation_ = ~uint64_t(0);
  uint64_t woken_ = 0;
  unsigned timeouts_ = 0;
};

}  // namespace cutegen_emu
