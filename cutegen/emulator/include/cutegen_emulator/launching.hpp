// Checks the configuration of a launch as the driver would, and spreads blocks over OS threads.
#pragma once

#include <cutegen_emulator/dispatcher.hpp>
#include <cutegen_emulator/launch.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

cudaError_t Launch::run(void (*enter)(void const*), void const* closure) const {
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

cudaError_t Launch::check() const {
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

cudaError_t Launch::refuse(cudaError_t error, char const* why, Fault fault) const {
  auto triple = [](dim3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
  };
  report("fault", fault, kernel_,
         std::string("the launch was refused: ") + why + "; it has grid " + triple(grid_) +
             ", block " + triple(block_) + ", " + std::to_string(smem_) +
             " bytes of dynamic shared memory");
  return error;
}

}  // namespace cutegen_emu
