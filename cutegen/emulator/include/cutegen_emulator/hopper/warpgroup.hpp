// Products of warpgroups (wgmma) that have been issued and not yet waited for.
#pragma once

#include <cutegen_emulator/standard.hpp>

#include <deque>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// A thread's accumulators while they are the tensor core's: the thread sees poison meanwhile.
struct Accumulators {
  uint32_t* registers = nullptr;  // the thread's own
  std::vector<uint32_t> values;
  int unfinished = 0;  // products
};

struct Product {
  // Computes it for all 128 threads.
  void (*evaluate)(struct Product* const* of_threads);
  // Finds its operands in shared memory, and tells the watcher that they are read.
  void (*check)(Product const& product, int line);
  uint64_t a = 0;  // descriptors
  uint64_t b = 0;
  std::array<uint32_t, 8> a_registers{};
  Accumulators* accumulators = nullptr;
  bool accumulate = false;
  int group = 0;  // commits before it
  int line = 0;
};

struct WarpgroupThread {
  std::deque<Product> products;  // oldest first
  std::deque<Accumulators> accumulators;
  int commits = 0;
  bool fenced = false;  // warpgroup_arrive was called at least once
  int keep = 0;         // groups that its wait leaves alone
};

struct Warpgroup {
  static constexpr int kThreads = 128;
  static constexpr int kMost = 8;  // of a block
  int waiting = 0;                 // threads
  int line = 0;
};

}  // namespace cutegen_emu
