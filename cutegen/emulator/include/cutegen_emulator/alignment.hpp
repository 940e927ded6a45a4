// A vector access to an address that is not aligned faults on a GPU and works on a CPU. The
// compiler checks every access (-fsanitize=alignment), and calls this function.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// What the compiler passes, as its sanitizer library declares it.
struct AccessSite {
  char const* file;
  uint32_t line;
  uint32_t column;
  void const* type;
  unsigned char log_alignment;
  unsigned char kind;
};

[[noreturn]] inline void refuse_access(AccessSite const& site, void const* address) {
  char const* slash = strrchr(site.file, '/');
  uintptr_t const bits = reinterpret_cast<uintptr_t>(address);
  std::string const why = "misaligned access at " + std::string(slash ? slash + 1 : site.file) +
                          ":" + std::to_string(site.line) + ": the address is a multiple of " +
                          std::to_string(bits & -bits) + " bytes, not of " +
                          std::to_string(1u << site.log_alignment);
  if (machine && machine->on_fiber()) machine->fail(cudaErrorMisalignedAddress, why);
  fprintf(stderr, "cutegen emulator: host code: %s\n", why.c_str());
  abort();
}

}  // namespace cutegen_emu

extern "C" __attribute__((used, noreturn, visibility("hidden"))) inline void
__ubsan_handle_type_mismatch_v1_abort(void* site, void* address) {
  cutegen_emu::refuse_access(*static_cast<cutegen_emu::AccessSite*>(site), address);
}
