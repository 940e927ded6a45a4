// The state of a CUDA thread, its warp and its block, as the machine keeps it.
#pragma once

#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

enum class Wait : uint8_t { kNothing, kBlock, kWarp, kParked, kSpinning };

// What a lane of a warp brings to a collective operation, and takes from it. `payload` is for
// whatever does not fit into a word; it lives on the lane's stack, which waits.
struct WarpVisit {
  char const* what;  // the function's name: lanes meet only in the same one
  void (*evaluate)(struct WarpMeeting&);
  uint32_t mask;
  int argument;
  int width;
  uint64_t value;
  uint64_t result;
  void* payload = nullptr;
};

// Why a thread waits for something that is neither its block nor its warp: a transaction barrier,
// a named barrier, a store that must have read. `describe` tells the state of `subject` in words,
// and is called for a report of a deadlock only.
struct Parking {
  char const* what;
  int line;
  void const* subject = nullptr;
  std::string (*describe)(void const* subject) = nullptr;
};

struct Fiber {
  void* stack_pointer;
  char* stack;  // null before the first instruction, and after the last
  uint3 index;  // threadIdx
  uint8_t block;  // its rank in the cluster
  Wait wait;
  WarpVisit visit;
  Parking parking;  // what and where, for every kind of wait
  int line;         // of the candidate: its last call into CUTLASS; see hopper/caller.hpp
};

struct Warp {
  uint32_t alive;
  uint32_t waiting;
};

// A block that the machine runs: one, or all of a cluster.
struct Block {
  uint3 index;  // blockIdx
  int alive;    // threads
  int at_barrier;
  int barrier_line;
  int predicate_sum;
  int barrier_count;    // predicates that were true at the last release
  int barrier_threads;  // threads that took part in it
  class SharedMemory* shared;
};

// The lanes that have met, for the function that computes their results.
struct WarpMeeting {
  Fiber* lanes;  // of the whole warp
  uint32_t group;
  int caller_line;
  LaunchState* launch;
  bool has(int lane) const { return lane >= 0 && lane < kWarp && (group >> lane & 1); }
};

}  // namespace cutegen_emu
