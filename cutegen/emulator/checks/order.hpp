// What happened before what: vector clocks of the threads of a cluster.
//
// A barrier makes all threads of a block equal, so what they know is kept once for all of them,
// and each has a small part of its own for its warp.
#pragma once

#include <cutegen_emulator/launch_state.hpp>
#include <unordered_map>

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {

class Order {
 public:
  void reset(int fibers) {
    fibers_ = size_t(fibers);
    auto nothing = std::make_shared<Clocks const>(fibers_, 0);
    threads_.assign(fibers_, Thread{1, nothing, {}});
    subjects_.clear();
  }

  uint32_t now(int fiber) const { return threads_[fiber].now; }

  // Whether what `other` did at `clock` is over for `fiber`.
  bool knows(int fiber, int other, uint32_t clock) const {
    if (fiber == other) return true;
    Thread const& thread = threads_[fiber];
    return (*thread.base)[other] >= clock ||
           (fiber / kWarp == other / kWarp && thread.warp[other % kWarp] >= clock);
  }

  void meet_block(int first, int count) {
    Clocks all(fibers_, 0);
    if (fibers_ > size_t((count + kWarp - 1) / kWarp * kWarp)) {  // there are other blocks
      for (int t = 0; t < count; ++t) raise(all, *threads_[first + t].base);
    }
    for (int t = 0; t < count; ++t) all[first + t] = threads_[first + t].now;
    auto const shared = std::make_shared<Clocks const>(std::move(all));
    for (int t = 0; t < count; ++t) {
      Thread& thread = threads_[first + t];
      thread.base = shared;
      thread.warp.fill(0);
      ++thread.now;
    }
  }

  void meet_warp(int first, uint32_t group) {
    std::array<uint32_t, kWarp> lanes{};
    auto base = threads_[first + __builtin_ctz(group)].base;
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      int const lane = __builtin_ctz(rest);
      Thread const& thread = threads_[first + lane];
      for (int other = 0; other < kWarp; ++other)
        lanes[other] = std::max(lanes[other], thread.warp[other]);
      lanes[lane] = thread.now;
      if (thread.base != base) {  // a lane knows more of other warps, say by a barrier in memory
        auto more = std::make_shared<Clocks>(*base);
        raise(*more, *thread.base);
        base = more;
      }
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      Thread& thread = threads_[first + __builtin_ctz(rest)];
      thread.base = base;
      thread.warp = lanes;
      ++thread.now;
    }
  }

  void release(int fiber, void const* subject) {
    // A kernel that updates a whole tensor atomically orders nothing by it: one for all will do.
    if (subjects_.size() >= kMostSubjects && !subjects_.count(subject)) subject = nullptr;
    Clocks& clocks = subjects_[subject];
    clocks.resize(fibers_);
    Thread& thread = threads_[fiber];
    raise(clocks, *thread.base);
    int const first = fiber / kWarp * kWarp;
    for (int lane = 0; lane < kWarp; ++lane)
      clocks[first + lane] = std::max(clocks[first + lane], thread.warp[lane]);
    clocks[fiber] = thread.now++;
  }

  void acquire(int fiber, void const* subject) {
    auto found = subjects_.find(subject);
    if (found == subjects_.end()) found = subjects_.find(nullptr);
    if (found == subjects_.end()) return;
    Thread& thread = threads_[fiber];
    auto more = std::make_shared<Clocks>(*thread.base);
    raise(*more, found->second);
    thread.base = more;
  }

 private:
  using Clocks = std::vector<uint32_t>;
  static constexpr size_t kMostSubjects = 4096;

  struct Thread {
    uint32_t now;
    std::shared_ptr<Clocks const> base;      // of every thread, the last moment that is over
    std::array<uint32_t, kWarp> warp;        // the same for the lanes of its warp, if later
  };

  static void raise(Clocks& clocks, Clocks const& others) {
    for (size_t i = 0; i < clocks.size(); ++i) clocks[i] = std::max(clocks[i], others[i]);
  }

  size_t fibers_ = 0;
  std::vector<Thread> threads_;
  std::unordered_map<void const*, Clocks> subjects_;
};

}  // namespace checking
}  // namespace cutegen_emu
