// An instruction that CuTe wraps and the emulator does not have: the candidate is refused for this
// place, as CUTLASS's own host build would only end the process.
#pragma once

#include <cutegen_emulator/hopper/caller.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline constexpr char const* kAdvice = "; judge this candidate with `--executor cuda`";

inline void refuse_instruction(char const* cutlass_says, char const* function) {
  std::string const why = std::string("the emulator has no ") + function +
                          " of this type when it is called like this (\"" + cutlass_says +
                          "\"): go through cute::copy and cute::gemm";
  if (machine && machine->on_fiber()) {
    machine->fail(Fault::kEnvironment, cudaErrorNotSupported, why + kAdvice, caller_line());
  }
  fprintf(stderr, "cutegen emulator: host code: %s\n", why.c_str());
  abort();
}

}  // namespace cutegen_emu
