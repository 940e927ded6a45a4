// Kernels that are launched by their address: how to call one with an array of arguments.
#pragma once

#include <cutegen_emulator/launch.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

struct KnownKernel {
  using Call = void (*)(void const* kernel, void** arguments);
  char const* name;
  Call call;
  dim3 cluster;  // of __cluster_dims__; 0 without it
};

class KnownKernels {
 public:
  void add(void const* kernel, KnownKernel const& known) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto const& entry : known_) {
      if (entry.first == kernel) return;
    }
    known_.emplace_back(kernel, known);
  }
  KnownKernel find(void const* kernel) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto const& entry : known_) {
      if (entry.first == kernel) return entry.second;
    }
    return {"a kernel", nullptr, dim3(0, 0, 0)};
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<void const*, KnownKernel>> known_;
};

inline KnownKernels& known_kernels() {
  static KnownKernels* known = new KnownKernels;
  return *known;
}

template <class... P, size_t... I>
inline void call_with(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_reference_t<P>*>(arguments[I])...);
}

// The rewriter puts this round every mention of a kernel that is no call.
template <class... P>
inline auto& known(char const* name, void (&kernel)(P...), unsigned x = 0, unsigned y = 1,
                   unsigned z = 1) {
  known_kernels().add(reinterpret_cast<void const*>(&kernel),
                      {name,
                       [](void const* address, void** arguments) {
                         call_with(reinterpret_cast<void (*)(P...)>(const_cast<void*>(address)),
                                   arguments, std::index_sequence_for<P...>{});
                       },
                       dim3(x, y, z)});
  return kernel;
}

}  // namespace cutegen_emu
