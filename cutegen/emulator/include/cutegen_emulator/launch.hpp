// A launch: a kernel, its configuration, and what was allowed to it before.
#pragma once

#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/settings.hpp>
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
  // launching.hpp
  cudaError_t run(void (*enter)(void const*), void const* closure) const;
  cudaError_t check() const;
  cudaError_t refuse(cudaError_t error, char const* why, Fault fault = Fault::kLaunchError) const;

  char const* kernel_;
  dim3 grid_;
  dim3 block_;
  size_t smem_;
  dim3 cluster_{1, 1, 1};
  bool large_clusters_ = false;
};

}  // namespace cutegen_emu
