// One block at a time on one OS thread: its fibers, who runs next, and who waits for what.
#pragma once

#include <cutegen_emulator/errors.hpp>
#include <cutegen_emulator/fiber.hpp>
#include <cutegen_emulator/vector_types.hpp>

#define CUTEGEN_EMU_THREAD_LOCAL \
  inline thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))

CUTEGEN_EMU_THREAD_LOCAL uint3 threadIdx{};
CUTEGEN_EMU_THREAD_LOCAL uint3 blockIdx{};
CUTEGEN_EMU_THREAD_LOCAL dim3 blockDim{};
CUTEGEN_EMU_THREAD_LOCAL dim3 gridDim{};
constexpr int warpSize = 32;

namespace cutegen_emu __attribute__((visibility("hidden"))) {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
constexpr size_t kSmemPerSm = 228 << 10;
constexpr size_t kSmemOptIn = 227 << 10;
constexpr size_t kSmemDefault = 48 << 10;
constexpr int kMultiprocessors = 132;  // an H100 or H200

enum class Order { kFifo, kReverse, kRandom };

// A small generator, good enough to shuffle threads (xorshift64*).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {
    if (state_ == 0) state_ = 1;
  }
  uint32_t below(uint32_t n) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    uint64_t const word = (state_ * 0x2545F4914F6CDD1Du) >> 32;
    return uint32_t((word * n) >> 32);
  }

 private:
  uint64_t state_;
};

// What a launch means to every block of it. `failed` is raised once, by whoever fails first.
struct LaunchState {
  char const* kernel;
  dim3 grid;
  dim3 block;
  size_t smem_bytes;
  void (*enter)(void const*);  // calls the kernel, once per thread
  void const* closure;
  Order order;
  uint64_t seed;
  std::atomic<bool> failed{false};
  std::atomic<bool> warned{false};
};

enum class Wait : uint8_t { kNothing, kBlock, kWarp };

// What a lane of a warp brings to a collective operation, and takes from it.
struct WarpVisit {
  char const* what;  // the function's name: lanes meet only in the same one
  void (*evaluate)(struct WarpMeeting&);
  uint32_t mask;
  int argument;
  int width;
  uint64_t value;
  uint64_t result;
};

struct Fiber {
  void* stack_pointer;
  char* stack;  // null before the first instruction, and after the last
  uint3 index;
  Wait wait;
  int line;
  WarpVisit visit;
};

struct Warp {
  uint32_t alive;
  uint32_t waiting;
};

// The lanes that have met, for the function that computes their results.
struct WarpMeeting {
  Fiber* lanes;  // of the whole warp
  uint32_t group;
  int caller_line;
  LaunchState* launch;
  bool has(int lane) const { return lane >= 0 && lane < kWarp && (group >> lane & 1); }
};

class Machine {
 public:
  Machine();

  void begin_launch(LaunchState& launch);
  void run_block(uint3 index, uint64_t linear);

  // Called on a fiber.
  bool wait_at_barrier(bool predicate, int line, char const* what);
  uint64_t meet_warp(WarpVisit const& visit, int line);
  uint32_t active_mask(int line);
  void yield();
  [[noreturn]] void fail(cudaError_t error, std::string const& why);

  int barrier_count() const { return barrier_count_; }
  int barrier_threads() const { return barrier_threads_; }
  LaunchState& launch() { return *launch_; }
  bool on_fiber() const { return current_ >= 0; }
  class SharedMemory& shared() { return *shared_; }
  unsigned& spins() { return spins_; }

 private:
  friend void fiber_main();

  void make_ready(int thread);
  int next_ready();
  void activate(int thread);
  void* entrance(int thread);
  void run_ready();
  void suspend();
  void run_here();
  void retire();
  void reap();
  void release_barrier();
  bool try_meeting(int warp, uint32_t mask, int caller);
  bool release_stalled();
  void report_deadlock();
  std::string where(int thread) const;

  LaunchState* launch_ = nullptr;
  StackPool stacks_;
  void* scheduler_ = nullptr;
  int threads_ = 0;
  int alive_ = 0;
  int current_ = -1;
  char* dead_ = nullptr;  // the stack of a thread that ended, until somebody stands elsewhere
  unsigned spins_ = 0;

  int at_barrier_ = 0;
  int barrier_line_ = 0;
  int predicate_sum_ = 0;
  int barrier_count_ = 0;    // predicates that were true at the last release
  int barrier_threads_ = 0;  // threads that took part in it

  Random random_{0};
  unsigned ready_head_ = 0;
  unsigned ready_count_ = 0;
  std::array<uint16_t, kMaxThreads> ready_{};
  std::array<Warp, kMaxThreads / kWarp> warps_{};
  std::array<Fiber, kMaxThreads> fibers_{};
  std::unique_ptr<SharedMemory> shared_;
};

CUTEGEN_EMU_THREAD_LOCAL Machine* machine = nullptr;

inline constexpr char const* kActiveMask = "__activemask";

inline void fiber_main() { machine->run_here(); }

inline void Machine::begin_launch(LaunchState& launch) {
  launch_ = &launch;
  blockDim = launch.block;
  gridDim = launch.grid;
  threads_ = int(launch.block.x * launch.block.y * launch.block.z);
  int t = 0;
  for (unsigned z = 0; z < launch.block.z; ++z)
    for (unsigned y = 0; y < launch.block.y; ++y)
      for (unsigned x = 0; x < launch.block.x; ++x) fibers_[t++].index = {x, y, z};
}

inline void Machine::make_ready(int thread) {
  fibers_[thread].wait = Wait::kNothing;
  ready_[(ready_head_ + ready_count_++) % kMaxThreads] = uint16_t(thread);
}

inline int Machine::next_ready() {
  if (ready_count_ == 0) return -1;
  if (launch_->order == Order::kRandom) {
    auto& first = ready_[ready_head_ % kMaxThreads];
    std::swap(first, ready_[(ready_head_ + random_.below(ready_count_)) % kMaxThreads]);
  }
  --ready_count_;
  return ready_[ready_head_++ % kMaxThreads];
}

inline void Machine::activate(int thread) {
  current_ = thread;
  threadIdx = fibers_[thread].index;
}

// Where a thread goes on, or begins on a stack of its own.
inline void* Machine::entrance(int thread) {
  Fiber& fiber = fibers_[thread];
  if (!fiber.stack) {
    fiber.stack = stacks_.take();
    fiber.stack_pointer = StackPool::prepare(fiber.stack, fiber_main);
  }
  return fiber.stack_pointer;
}

inline void Machine::reap() {
  if (!dead_) return;
  stacks_.give(dead_);
  dead_ = nullptr;
}

// Called by the scheduler: returns when no thread is ready any more, or the launch has failed.
inline void Machine::run_ready() {
  int const thread = next_ready();
  if (thread < 0) return;
  activate(thread);
  cutegen_emu_switch(&scheduler_, entrance(thread));
  reap();
}

// Leaves the running thread, whose turn comes again when somebody makes it ready.
inline void Machine::suspend() {
  Fiber& fiber = fibers_[current_];
  int const next = launch_->failed.load(std::memory_order_relaxed) ? -1 : next_ready();
  if (next == current_) return;
  if (next < 0) {
    current_ = -1;
    cutegen_emu_switch(&fiber.stack_pointer, scheduler_);
  } else {
    activate(next);
    cutegen_emu_switch(&fiber.stack_pointer, entrance(next));
  }
  reap();
}

inline void Machine::yield() {
  make_ready(current_);
  suspend();
}

// The life of a stack: one thread after another, without a switch as long as none has to wait.
inline void Machine::run_here() {
  reap();
  for (;;) {
    launch_->enter(launch_->closure);
    retire();
    char*& stack = fibers_[current_].stack;
    int const next = launch_->failed.load(std::memory_order_relaxed) ? -1 : next_ready();
    void* dropped;
    if (next >= 0 && !fibers_[next].stack) {
      fibers_[next].stack = stack;
      stack = nullptr;
      activate(next);
      continue;
    }
    dead_ = stack;
    stack = nullptr;
    if (next < 0) {
      current_ = -1;
      cutegen_emu_switch(&dropped, scheduler_);
    } else {
      activate(next);
      cutegen_emu_switch(&dropped, fibers_[next].stack_pointer);
    }
  }
}

// The running thread has ended, and keeps nobody waiting.
inline void Machine::retire() {
  int const warp = current_ / kWarp;
  warps_[warp].alive &= ~(1u << (current_ % kWarp));
  --alive_;
  if (at_barrier_ && at_barrier_ == alive_) release_barrier();
  if (warps_[warp].waiting) {
    int const lane = __builtin_ctz(warps_[warp].waiting);
    try_meeting(warp, fibers_[warp * kWarp + lane].visit.mask, -1);
  }
}

inline void Machine::release_barrier() {
  barrier_count_ = predicate_sum_;
  barrier_threads_ = at_barrier_;
  predicate_sum_ = at_barrier_ = barrier_line_ = 0;
  bool const backwards = launch_->order == Order::kReverse;
  for (int i = 0; i < threads_; ++i) {
    int const thread = backwards ? threads_ - 1 - i : i;
    if (fibers_[thread].wait == Wait::kBlock) make_ready(thread);
  }
}

inline bool Machine::wait_at_barrier(bool predicate, int line, char const* what) {
  Fiber& fiber = fibers_[current_];
  fiber.wait = Wait::kBlock;
  fiber.line = line;
  fiber.visit.what = what;
  predicate_sum_ += predicate;
  if (at_barrier_++ == 0) barrier_line_ = line;
  if (barrier_line_ != line && !launch_->warned.exchange(true)) {
    fprintf(stderr,
            "cutegen emulator: warning: divergent barrier in %s: %s waits at line %d, others at "
            "line %d; on a GPU this may hang\n",
            launch_->kernel, where(current_).c_str(), line, barrier_line_);
  }
  if (at_barrier_ == alive_) release_barrier();
  suspend();
  return barrier_count_ > 0;
}

// Completes the meeting that `mask` names, if everyone alive in it has come. `caller` goes on
// without a switch; everybody else becomes ready.
inline bool Machine::try_meeting(int warp_index, uint32_t mask, int caller) {
  Warp& warp = warps_[warp_index];
  uint32_t const group = mask & warp.alive;
  if (!group || (warp.waiting & group) != group) return false;
  Fiber* lanes = &fibers_[warp_index * kWarp];
  Fiber const& first = lanes[__builtin_ctz(group)];
  for (uint32_t rest = group; rest; rest &= rest - 1) {
    WarpVisit const& visit = lanes[__builtin_ctz(rest)].visit;
    if ((visit.mask & warp.alive) != group || visit.what != first.visit.what) return false;
  }
  if (first.visit.what == kActiveMask) return false;  // that one waits for a stall
  WarpMeeting meeting{lanes, group, first.line, launch_};
  if (first.visit.evaluate) first.visit.evaluate(meeting);
  warp.waiting &= ~group;
  for (uint32_t rest = group; rest; rest &= rest - 1) {
    int const thread = warp_index * kWarp + __builtin_ctz(rest);
    fibers_[thread].wait = Wait::kNothing;
    if (thread != caller) make_ready(thread);
  }
  return true;
}

inline uint64_t Machine::meet_warp(WarpVisit const& visit, int line) {
  Fiber& fiber = fibers_[current_];
  int const warp = current_ / kWarp;
  uint32_t const bit = 1u << (current_ % kWarp);
  fiber.visit = visit;
  fiber.line = line;
  fiber.wait = Wait::kWarp;
  warps_[warp].waiting |= bit;
  if (!(visit.mask & bit)) {
    fail(cudaErrorLaunchFailure, std::string(visit.what) + " with a mask that lacks its own lane");
  }
  if (!try_meeting(warp, visit.mask, current_)) suspend();
  return fiber.visit.result;
}

inline uint32_t Machine::active_mask(int line) {
  // Which lanes stand together is known only when none of them can go on by itself.
  return uint32_t(meet_warp({kActiveMask, nullptr, ~0u, 0, 0, 0, 0}, line));
}

// Lanes at one __activemask() are together once nothing else in the block can move.
inline bool Machine::release_stalled() {
  bool released = false;
  for (int w = 0; w * kWarp < threads_; ++w) {
    Fiber* lanes = &fibers_[w * kWarp];
    uint32_t together = 0;
    int line = 0;
    for (uint32_t rest = warps_[w].waiting; rest; rest &= rest - 1) {
      int const lane = __builtin_ctz(rest);
      if (lanes[lane].visit.what != kActiveMask) continue;
      if (!together) line = lanes[lane].line;
      if (lanes[lane].line == line) together |= 1u << lane;
    }
    warps_[w].waiting &= ~together;
    for (uint32_t rest = together; rest; rest &= rest - 1) {
      int const lane = __builtin_ctz(rest);
      lanes[lane].visit.result = together;
      make_ready(w * kWarp + lane);
      released = true;
    }
  }
  return released;
}

inline std::string Machine::where(int thread) const {
  auto triple = [](uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
  };
  return "thread " + triple(fibers_[thread].index) + " of block " + triple(blockIdx);
}

inline void Machine::report_deadlock() {
  std::string text;
  std::array<bool, kMaxThreads> told{};
  for (int t = 0; t < threads_; ++t) {
    if (told[t] || fibers_[t].wait == Wait::kNothing) continue;
    int same = 0;
    for (int u = t; u < threads_; ++u) {
      if (fibers_[u].wait == Wait::kNothing || fibers_[u].line != fibers_[t].line ||
          fibers_[u].visit.what != fibers_[t].visit.what) {
        continue;
      }
      told[u] = true;
      ++same;
    }
    text += "\n  " + std::to_string(same) + " wait at line " + std::to_string(fibers_[t].line) +
            " in " + fibers_[t].visit.what + ", first " + where(t);
  }
  fprintf(stderr, "cutegen emulator: deadlock in %s: %d threads have ended, and%s\n",
          launch_->kernel, threads_ - alive_, text.c_str());
}

inline void Machine::fail(cudaError_t error, std::string const& why) {
  if (!launch_->failed.exchange(true)) {
    fprintf(stderr, "cutegen emulator: %s in %s: %s\n", where(current_).c_str(), launch_->kernel,
            why.c_str());
    record_sticky(error);
  }
  suspend();  // for ever: the block is given up
  __builtin_unreachable();
}

}  // namespace cutegen_emu
