// 32-bit addresses of shared memory. Bits 0 to 23 are the offset in a block's window; the bits
// above are 0 for the block's own, and 1 + rank for a block of the cluster (`mapa`).
#pragma once

#include <cutegen_emulator/hopper/caller.hpp>
#include <cutegen_emulator/shared_memory.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline constexpr int kRankShift = 24;

// The rank of the block whose window holds these bytes, or -1.
inline int owner_of(void const* address, size_t bytes = 1) {
  int const own = machine->block_rank();
  if (machine->block(own).shared->in_use(address, bytes)) return own;
  for (int rank = 0; rank < machine->block_count(); ++rank) {
    if (machine->block(rank).shared->in_use(address, bytes)) return rank;
  }
  return -1;
}

// As owner_of, for an instruction that takes nothing but shared memory.
inline int require_shared(void const* address, size_t bytes, char const* what, int line) {
  int const rank = owner_of(address, bytes);
  if (rank < 0) {
    machine->fail(Fault::kOutOfBounds, cudaErrorIllegalAddress,
                  std::string(what) + " with an address outside the shared memory of the cluster",
                  line);
  }
  return rank;
}

// The same variable of another block. All blocks of a cluster place variables alike.
inline void* in_block(void const* address, int rank, char const* what, int line) {
  int const owner = require_shared(address, 1, what, line);
  if (rank < 0 || rank >= machine->block_count()) {
    machine->fail(Fault::kOutOfBounds, cudaErrorIllegalAddress,
                  std::string(what) + " addresses block " + std::to_string(rank) +
                      " of a cluster of " + std::to_string(machine->block_count()),
                  line);
  }
  if (machine->block(rank).alive == 0) {
    machine->fail(Fault::kOutOfBounds, cudaErrorIllegalAddress,
                  std::string(what) + " addresses the shared memory of block " +
                      std::to_string(rank) + " of the cluster, which has ended; let the blocks "
                      "wait for each other with cluster_sync() before they end",
                  line);
  }
  ptrdiff_t const offset =
      static_cast<char const*>(address) - machine->block(owner).shared->dynamic();
  return machine->block(rank).shared->dynamic() + offset;
}

inline uint32_t to_shared_address(void const* address) {
  if (!machine || !machine->on_fiber()) return 0;  // a host has no shared memory
  int const rank = owner_of(address);
  if (rank < 0) {
    machine->fail(Fault::kEnvironment, cudaErrorNotSupported,
                  "an address that is not of shared memory, or of a __shared__ variable of "
                  "namespace scope; declare shared memory in the kernel",
                  caller_line());
  }
  char const* base = machine->block(rank).shared->dynamic();
  uint32_t const offset = uint32_t(static_cast<char const*>(address) - base);
  return rank == machine->block_rank() ? offset : offset | uint32_t(rank + 1) << kRankShift;
}

inline void* from_shared_address(uint32_t address, char const* what, int line) {
  uint32_t const offset = address & ((1u << kRankShift) - 1);
  char* own = machine->shared().dynamic() + offset;
  uint32_t const rank = address >> kRankShift;
  return rank ? in_block(own, int(rank) - 1, what, line) : own;
}

}  // namespace cutegen_emu
