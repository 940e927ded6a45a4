// Spreads the clusters of a launch over OS threads, each with a machine.
#pragma once

#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/settings.hpp>

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

Machine& own_machine() {
  if (!machine) machine = machine_pool().take();
  return *machine;
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
    if (launch_.watched) checking::begin_launch();
    launch_.dispatcher = this;
    launch_.run_more_blocks = [](void* self) { return static_cast<Dispatcher*>(self)->more(); };
    // The shadow of memory has no locks, and reports come in one order.
    unsigned const most = launch_.watched ? 1 : worker_count();
    unsigned const workers = unsigned(std::min<uint64_t>(most, clusters_));
    while (helpers_.size() + 1 < workers && start_helper()) {
    }
    own_machine();
    serve();
    // A helper may have started another one meanwhile, so their number is asked for each time.
    for (size_t i = 0;; ++i) {
      std::unique_lock<std::mutex> lock(mutex_);
      if (i == helpers_.size()) break;
      std::thread helper = std::move(helpers_[i]);
      lock.unlock();
      helper.join();
    }
  }

 private:
  // The stacks of all machines together; more would exhaust the address space of a sandbox.
  static constexpr size_t kStackBytes = size_t(4) << 30;

  // A sandbox may allow no more threads: then the clusters run on those that there are.
  bool start_helper() {
    std::lock_guard<std::mutex> lock(mutex_);
    try {
      helpers_.emplace_back([this] { help(); });
    } catch (std::system_error const&) {
      return false;
    }
    return true;
  }

  // All clusters that run wait for something. On a GPU the others would run beside them.
  MoreBlocks more() {
    if (next_.load() >= clusters_) return MoreBlocks::kNone;
    size_t const fibers = size_t(launch_.block.x) * launch_.block.y * launch_.block.z *
                          launch_.cluster.x * launch_.cluster.y * launch_.cluster.z;
    size_t const most = std::min<size_t>(kMultiprocessors, kStackBytes / StackPool::kBytes / fibers);
    if (size_t(launch_.running) >= most || launch_.watched || !start_helper()) {
      return MoreBlocks::kTooMany;
    }
    return MoreBlocks::kStarted;
  }

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
  std::mutex mutex_;
  std::vector<std::thread> helpers_;
};

}  // namespace cutegen_emu
