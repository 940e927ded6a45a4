// A launch: checks the configuration as the driver would, and spreads blocks over OS threads.
#pragma once

#include <cutegen_emulator/dispatcher.hpp>
#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/shared.hpp>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

namespace cutegen_emu __attribute__((visibility("hidden"))) {

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

// Kernels that were allowed clusters of a size that is not portable, by address.
class LargeClusters {
 public:
  void allow(void const* kernel) {
    std::lock_guard<std::mutex> lock(mutex_);
    kernels_.push_back(kernel);
  }
  bool allowed(void const* kernel) {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::find(kernels_.begin(), kernels_.end(), kernel) != kernels_.end();
  }

 private:
  std::mutex mutex_;
  std::vector<void const*> kernels_;
};

inline LargeClusters& large_clusters() {
  static LargeClusters* clusters = new LargeClusters;
  return *clusters;
}

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

  Launch& cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
    cluster_ = dim3(x, y, z);
    return *this;
  }
  // The kernel's address, for what was allowed to it.
  Launch& of(void const* kernel) {
    large_clusters_ = large_clusters().allowed(kernel);
    return *this;
  }

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
    LaunchState state{kernel_, grid_, block_,  cluster_,
                      smem_,   enter, closure, order_from_environment(),
                      seed_from_environment(), poison_from_environment(),
                      watching_from_environment()};
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
      return refuse(cudaErrorInvalidValue, "a block has 227 KiB of shared memory at most",
                    Fault::kSmemLimit);
    }
    if (smem_ > smem_limits().largest()) {
      return refuse(cudaErrorInvalidValue,
                    "more than 48 KiB of dynamic shared memory needs cudaFuncSetAttribute("
                    "kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first");
    }
    uint64_t const blocks = uint64_t(cluster_.x) * cluster_.y * cluster_.z;
    if (!blocks || grid_.x % cluster_.x || grid_.y % cluster_.y || grid_.z % cluster_.z) {
      return refuse(cudaErrorInvalidConfiguration, "the grid is not a whole number of clusters");
    }
    if (blocks > kMaxCluster || (blocks > kPortableCluster && !large_clusters_)) {
      return refuse(cudaErrorInvalidConfiguration,
                    "a cluster has 8 blocks at most, or 16 after cudaFuncSetAttribute(kernel, "
                    "cudaFuncAttributeNonPortableClusterSizeAllowed, 1)");
    }
    return cudaSuccess;
  }

  cudaError_t refuse(cudaError_t error, char const* why, Fault fault = Fault::kLaunchError) const {
    auto triple = [](dim3 v) {
      return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
    };
    report("fault", fault, kernel_,
           std::string("the launch was refused: ") + why + "; it has grid " + triple(grid_) +
               ", block " + triple(block_) + ", " + std::to_string(smem_) +
               " bytes of dynamic shared memory");
    return error;
  }

  char const* kernel_;
  dim3 grid_;
  dim3 block_;
  size_t smem_;
  dim3 cluster_{1, 1, 1};
  bool large_clusters_ = false;
};

}  // namespace cutegen_emu
