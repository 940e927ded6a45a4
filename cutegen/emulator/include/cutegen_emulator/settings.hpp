// What the environment says about a launch. It is read anew for each, as the executor changes it.
#pragma once

#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline unsigned worker_count() {
  if (char const* text = getenv("CUTEGEN_EMU_THREADS")) {
    int const n = atoi(text);
    if (n > 0) return unsigned(n);
  }
  // More would only cost stacks: 1024 of them for every OS thread.
  return std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

// Whether every access of the kernels is watched.
inline bool watching_from_environment() {
  char const* text = getenv("CUTEGEN_EMU_WATCH");
  return text && !strcmp(text, "1");
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

// When a cp.async that is under way is made; see atoms/async_copies.hpp.
enum class CopyTime { kLate, kNow, kRandom };

inline CopyTime copy_time_from_environment() {
  char const* text = getenv("CUTEGEN_EMU_CPASYNC");
  if (!text || !*text || !strcmp(text, "late")) return CopyTime::kLate;
  if (!strcmp(text, "now")) return CopyTime::kNow;
  if (!strcmp(text, "random")) return CopyTime::kRandom;
  fprintf(stderr,
          "cutegen emulator: CUTEGEN_EMU_CPASYNC=%s is none of late, now, random; using late\n",
          text);
  return CopyTime::kLate;
}

// The byte that memory holds which nobody has written: NaN in every floating type by default.
inline uint8_t poison_from_environment() {
  char const* text = getenv("CUTEGEN_EMU_POISON");
  return text && *text ? uint8_t(strtoul(text, nullptr, 0)) : 0xff;
}

}  // namespace cutegen_emu
