// What one OS thread runs at a time: the fibers of one block, or of all blocks of a cluster.
// Candidates only call it: checks/machine.cpp has the code, which need not be built for each.
//
// Fibers are numbered through: thread t of the block of rank r is fiber r * stride + t, where the
// stride is a whole number of warps. A running fiber leaves at a barrier, in a warp's meeting, or
// parked on a condition of somebody else's making:
//
//   machine->park({"a wait for an mbarrier", line, barrier, describe});  // until somebody says
//   machine->wake(fiber);                                                // machine->current()
#pragma once

#include <cutegen_emulator/checking.hpp>
#include <cutegen_emulator/fiber.hpp>
#include <cutegen_emulator/fiber_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

class Machine {
 public:
  using OnStall = bool (*)(Machine&);

  void begin_launch(LaunchState& launch);
  // `place` counts clusters in x, y and z; `linear` seeds the order of its threads.
  void run_cluster(uint3 place, uint64_t linear);

  // Called on a fiber.
  bool wait_at_barrier(bool predicate, int line, char const* what);
  uint64_t meet_warp(WarpVisit const& visit, int line);
  uint32_t active_mask(int line);
  void park(Parking const& parking);
  void yield();
  void breathe(Parking const& loop);  // once a turn of what may be a loop that waits
  void rest(Parking const& loop);     // the same, and others run at once
  void progressed();  // somebody's wait may have ended
  // Gives the launch up. `why` may go on in further lines, after \x1f. A fault that no line
  // number belongs to yet may say so: `0` leaves it out.
  [[noreturn]] void fail(cudaError_t error, std::string const& why, int line = 0);
  [[noreturn]] void fail(Fault fault, cudaError_t error, std::string const& why, int line = 0);
  [[noreturn]] void give_up(Fault fault, cudaError_t error, std::string const& text);
  // Something odd that may be harmless: the executor decides by what comes of it.
  void note(Fault fault, std::string const& what);

  // A parked fiber may go on.
  void wake(int fiber) {
    progressed();
    make_ready(fiber);
  }

  // Asked when no thread can run: does what was put off (a copy that is still under way) and says
  // whether that made anybody ready. Registering twice does no harm.
  void when_stalled(OnStall handler) {
    if (std::find(on_stall_.begin(), on_stall_.end(), handler) == on_stall_.end()) {
      on_stall_.push_back(handler);
    }
  }

  // Called when all threads of a cluster have ended.
  using OnEnd = void (*)(Machine&);
  void when_ended(OnEnd handler) { on_end_.push_back(handler); }

  // Whatever its blocks have under way besides threads; see hopper/asynchronous.hpp.
  std::shared_ptr<void> asynchronous;

  LaunchState& launch() { return *launch_; }
  Random& random() { return random_; }
  bool on_fiber() const { return current_ >= 0; }
  int current() const { return current_; }
  Fiber& fiber(int number) { return fibers_[number]; }
  bool alive(int fiber) const { return warps_[fiber / kWarp].alive >> (fiber % kWarp) & 1; }
  int stride() const { return stride_; }          // fibers from one block to the next
  int threads() const { return threads_; }        // of a block
  int block_count() const { return int(blocks_.size()); }  // of the cluster
  Block& block(int rank) { return blocks_[rank]; }
  Block& block() { return blocks_[active_]; }     // of the running fiber
  int block_rank() const { return active_; }
  SharedMemory& shared() { return *blocks_[active_].shared; }
  // Counts the clusters that this machine has begun: state of an older one is stale.
  uint64_t generation() const { return generation_; }
  std::string where(int fiber) const;

  checking::Watcher* watcher = nullptr;  // while a launch is watched

 private:
  friend void fiber_main();

  // scheduler.hpp
  void begin_cluster(uint3 place, uint64_t linear);
  void end_cluster();
  void make_ready(int fiber);
  int next_ready();
  void activate(int fiber);
  void* entrance(int fiber);
  void run_ready();
  void suspend();
  void run_here();
  void retire();
  void reap();
  bool failed() const { return launch_->failed.load(std::memory_order_relaxed); }

  void release_barrier(int rank);                           // block_barrier.hpp
  bool try_meeting(int warp, uint32_t mask, int caller);    // warp_meeting.hpp
  bool release_active_masks();                              // warp_meeting.hpp
  void look_for_livelock();                                 // spinning.hpp
  bool release_stalled();                                   // deadlock.hpp
  bool warps_diverge() const;                               // deadlock.hpp
  void report_deadlock();                                   // deadlock.hpp

  LaunchState* launch_ = nullptr;
  StackPool stacks_;
  void* scheduler_ = nullptr;
  int threads_ = 0;
  int stride_ = 0;
  int alive_ = 0;  // threads of all blocks
  int current_ = -1;
  int active_ = 0;       // rank of the block whose variables are in place
  char* dead_ = nullptr;  // the stack of a thread that ended, until somebody stands elsewhere
  unsigned spins_ = 0;  // without progress in between
  bool spinning_ = false;
  uint64_t progress_seen_ = 0;
  std::chrono::steady_clock::time_point spinning_since_;
  uint64_t generation_ = 0;

  Random random_{0};
  unsigned ready_head_ = 0;
  unsigned ready_count_ = 0;
  std::vector<uint16_t> ready_;  // a ring; its size is a power of two
  std::vector<Warp> warps_;
  std::vector<Fiber> fibers_;
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<SharedMemory>> shared_;
  std::vector<OnStall> on_stall_;
  std::vector<OnEnd> on_end_;

 public:
  Machine();
  ~Machine();
};

CUTEGEN_EMU_THREAD_LOCAL Machine* machine = nullptr;

}  // namespace cutegen_emu
