// A launch: checks the configuration as the driver would, and spreads blocks over OS threads.
#pragma once

#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/shared.hpp>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Machines outlive OS threads: their stacks and arenas are warm.
class MachinePool {
 public:
  Machine* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return new Machine;
    Machine* m = free_.back();
    free_.pop_back();
    return m;
  }
  void give(Machine* m) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(m);
  }

 private:
  std::mutex mutex_;
  std::vector<Machine*> free_;
};

inline MachinePool& machine_pool() {
  static MachinePool* pool = new MachinePool;  // never destroyed: threads may outlive statics
  return *pool;
}

inline Machine& own_machine() {
  if (!machine) machine = machine_pool().take();
  return *machine;
}

// Kernels that were allowed more than 48 KiB of dynamic shared memory, by address.
class SmemLimits {
 public:
  void allow(void const* kernel, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& entry : limits_) {
      if (entry.first == kernel) {
        entry.second = bytes;
        return;
      }
    }
    limits_.emplace_back(kernel, bytes);
  }
  // The largest limit that was set for any kernel.
  size_t largest() {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t most = kSmemDefault;
    for (auto const& entry : limits_) most = std::max(most, entry.second);
    return most;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<void const*, size_t>> limits_;
};

inline SmemLimits& smem_limits() {
  static SmemLimits* limits = new SmemLimits;
  return *limits;
}

inline unsigned worker_count() {
  if (char const* text = getenv("CUTEGEN_EMU_THREADS")) {
    int const n = atoi(text);
    if (n > 0) return unsigned(n);
  }
  // More would only cost stacks: 1024 of them for every OS thread.
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

inline Order order_from_environment() {
  char const* text = getenv("CUTEGEN_EMU_ORDER");
  if (!text || !*text || !strcmp(text, "fifo")) return Order::kFifo;
  if (!strcmp(text, "reverse")) return Order::kReverse;
  if (!strcmp(text, "random")) return Order::kRandom;
  fprintf(stderr,
          "cutegen emulator: CUTEGEN_EMU_ORDER=%s is none of fifo, reverse, random; using fifo\n",
          text);
  return Order::kFifo;
}

inline uint64_t seed_from_environment() {
  char const* text = getenv("CUTEGEN_EMU_SEED");
  return text ? strtoull(text, nullptr, 10) : 0;
}

// Gives every OS thread one cluster (mostly of a single block) after another, in the launch's order.
class Dispatcher {
 public:
  explicit Dispatcher(LaunchState& launch)
      : launch_(launch),
        grid_(launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
              launch.grid.z / launch.cluster.z),
        clusters_(uint64_t(grid_.x) * grid_.y * grid_.z),
        random_(launch.seed),
        offset_(random_.below(uint32_t(std::min<uint64_t>(clusters_, UINT32_MAX)))),
        stride_(1) {
    if (launch.order != Order::kRandom) return;
    // An affine permutation needs no memory, however large the grid.
    do {
      stride_ = 1 + random_.below(uint32_t(std::min<uint64_t>(clusters_, 1u << 20)));
    } while (std::gcd(stride_, clusters_) != 1);
  }

  void run() {
    unsigned const workers = unsigned(std::min<uint64_t>(worker_count(), clusters_));
    std::vector<std::thread> others;
    for (unsigned i = 1; i < workers; ++i) {
      try {
        others.emplace_back([this] { help(); });
      } catch (std::system_error const&) {
        break;  // a sandbox may allow no more threads: the clusters run on those that there are
      }
    }
    own_machine();
    serve();
    for (std::thread& other : others) other.join();
  }

 private:
  void help() {
    machine = machine_pool().take();
    serve();
    machine_pool().give(machine);
    machine = nullptr;
  }

  void serve() {
    machine->begin_launch(launch_);
    while (!launch_.failed.load(std::memory_order_relaxed)) {
      uint64_t const turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= clusters_) break;
      uint64_t const linear = position(turn);
      unsigned const x = unsigned(linear % grid_.x);
      uint64_t const rest = linear / grid_.x;
      machine->run_cluster({x, unsigned(rest % grid_.y), unsigned(rest / grid_.y)}, linear);
    }
  }

  uint64_t position(uint64_t turn) const {
    switch (launch_.order) {
      case Order::kReverse:
        return clusters_ - 1 - turn;
      case Order::kRandom:
        return uint64_t((static_cast<unsigned __int128>(turn) * stride_ + offset_) % clusters_);
      default:
        return turn;
    }
  }

  LaunchState& launch_;
  dim3 grid_;  // of clusters
  uint64_t clusters_;
  Random random_;
  uint64_t offset_;
  uint64_t stride_;
  std::atomic<uint64_t> next_{0};
};

// The first statement of a kernel with __launch_bounds__.
inline void check_launch_bounds(unsigned threads, unsigned = 0, unsigned = 0) {
  dim3 const block = blockDim;
  if (block.x * block.y * block.z > threads) {
    machine->fail(cudaErrorLaunchOutOfResources,
                  "the block has more threads than __launch_bounds__ promises");
  }
}

// `kernel<<<grid, block, smem, stream>>>(arguments)`, as the rewriter writes it.
class Launch {
 public:
  Launch(char const* kernel, dim3 grid, dim3 block, size_t smem = 0, cudaStream_t = nullptr)
      : kernel_(kernel), grid_(grid), block_(block), smem_(smem) {}

  template <class F>
  cudaError_t run(F const& call) const {
    return run([](void const* closure) { (*static_cast<F const*>(closure))(); }, &call);
  }

 private:
  cudaError_t run(void (*enter)(void const*), void const* closure) const {
    ++launches;
    if (machine && machine->on_fiber()) {
      machine->fail(cudaErrorNotSupported, "a kernel launches a kernel; the emulator cannot");
    }
    if (int const sticky = sticky_error) return record(cudaError_t(sticky));
    cudaError_t const refused = check();
    if (refused != cudaSuccess) return record(refused);
    LaunchState state{kernel_, grid_, block_,  dim3(1, 1, 1),
                      smem_,   enter, closure, order_from_environment(),
                      seed_from_environment()};
    Dispatcher(state).run();
    return cudaError_t(sticky_error.load());
  }

  cudaError_t check() const {
    uint64_t const threads = uint64_t(block_.x) * block_.y * block_.z;
    if (!threads || !grid_.x || !grid_.y || !grid_.z) {
      return refuse(cudaErrorInvalidConfiguration, "a grid and a block need one thread at least");
    }
    if (threads > kMaxThreads || block_.x > 1024 || block_.y > 1024 || block_.z > 64) {
      return refuse(cudaErrorInvalidConfiguration,
                    "a block has 1024 threads at most, and 1024 x 1024 x 64 by dimension");
    }
    if (grid_.x > INT32_MAX || grid_.y > 65535 || grid_.z > 65535) {
      return refuse(cudaErrorInvalidConfiguration,
                    "a grid has 2147483647 x 65535 x 65535 blocks at most");
    }
    if (smem_ > kSmemOptIn) {
      return refuse(cudaErrorInvalidValue, "a block has 227 KiB of shared memory at most");
    }
    if (smem_ > smem_limits().largest()) {
      return refuse(cudaErrorInvalidValue,
                    "more than 48 KiB of dynamic shared memory needs cudaFuncSetAttribute("
                    "kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first");
    }
    return cudaSuccess;
  }

  cudaError_t refuse(cudaError_t error, char const* why) const {
    fprintf(stderr,
            "cutegen emulator: launch of %s refused: grid (%u,%u,%u), block (%u,%u,%u), %zu bytes "
            "of dynamic shared memory: %s\n",
            kernel_, grid_.x, grid_.y, grid_.z, block_.x, block_.y, block_.z, smem_, why);
    return error;
  }

  char const* kernel_;
  dim3 grid_;
  dim3 block_;
  size_t smem_;
};

}  // namespace cutegen_emu
