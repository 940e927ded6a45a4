// What a launch means to every block of it, and the variables that CUDA builds into a kernel.
#pragma once

#include <cutegen_emulator/report.hpp>
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
constexpr int kMaxThreads = 1024;  // of a block
constexpr int kPortableCluster = 8;  // blocks
constexpr int kMaxCluster = 16;      // with the attribute for a size that is not portable
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

// What became of the wish that blocks which have not begun run beside those that wait for them.
enum class MoreBlocks { kStarted, kNone, kTooMany };

// `failed` is raised once, by whoever fails first.
struct LaunchState {
  char const* kernel;
  dim3 grid;
  dim3 block;
  dim3 cluster;  // blocks of it run in one machine
  size_t smem_bytes;
  void (*enter)(void const*);  // calls the kernel, once per thread
  void const* closure;
  Order order;
  uint64_t seed;
  uint8_t poison;  // the bytes of what nobody has written
  bool watched;    // every access is; see checking.hpp
  MoreBlocks (*run_more_blocks)(void* dispatcher) = nullptr;
  void* dispatcher = nullptr;
  std::atomic<bool> failed{false};
  std::atomic<int> running{0};        // machines that have a cluster
  std::atomic<int> spinning{0};       // those of them that wait in loops
  std::atomic<uint64_t> progress{0};  // of any machine: what may end a wait between blocks
};

}  // namespace cutegen_emu
