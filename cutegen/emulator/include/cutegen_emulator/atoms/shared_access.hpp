// What an instruction of shared memory demands of its address.
#pragma once

#include <cutegen_emulator/hopper/address.hpp>
#include <cutegen_emulator/checking.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The `bytes` bytes must lie in the block's own shared memory, and be aligned to their number.
inline void check_shared_access(char const* instruction, void const* pointer, size_t bytes) {
  uintptr_t const address = reinterpret_cast<uintptr_t>(pointer);
  if (address % bytes) {
    machine->fail(cudaErrorMisalignedAddress,
                  std::string(instruction) + ": the address is a multiple of " +
                      std::to_string(address & -address) + " bytes, not of " +
                      std::to_string(bytes),
                  caller_line());
  }
  SharedMemory const& shared = machine->shared();
  if (!shared.holds(address, bytes) && !shared.holds_global(pointer, bytes)) {
    machine->fail(cudaErrorIllegalAddress,
                  std::string(instruction) + " with an address outside the block's shared memory" +
                      (shared.reserved(address) ? ", " + shared.beside(address) : ""),
                  caller_line());
  }
}

}  // namespace cutegen_emu
