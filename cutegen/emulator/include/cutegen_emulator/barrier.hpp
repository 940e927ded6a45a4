// Barriers of a block, and fences.
#pragma once

#include <cutegen_emulator/machine.hpp>

inline void __syncthreads(int line = __builtin_LINE()) {
  cutegen_emu::machine->wait_at_barrier(false, line, "__syncthreads");
}

inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return cutegen_emu::machine->wait_at_barrier(predicate != 0, line, "__syncthreads_or");
}

inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  cutegen_emu::Block& block = cutegen_emu::machine->block();
  cutegen_emu::machine->wait_at_barrier(predicate != 0, line, "__syncthreads_count");
  return block.barrier_count;
}

inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  cutegen_emu::Block& block = cutegen_emu::machine->block();
  cutegen_emu::machine->wait_at_barrier(predicate != 0, line, "__syncthreads_and");
  return block.barrier_count == block.barrier_threads;
}

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline void __nanosleep(unsigned, int line = __builtin_LINE()) {
  cutegen_emu::machine->rest({"a loop with __nanosleep", line});
}

[[noreturn]] inline void __trap(int line = __builtin_LINE()) {
  cutegen_emu::machine->fail(cudaErrorLaunchFailure, "__trap() was reached", line);
}
inline void __brkpt() { __trap(); }
