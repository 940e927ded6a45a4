// Which function called which: a tree, so that a place in the program is two small numbers.
#pragma once

#include <cutegen_emulator/launch_state.hpp>
#include <unordered_map>

// Where the linker puts this library's own header: addresses are told relative to it.
extern "C" __attribute__((visibility("hidden"))) char const __ehdr_start;

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {

// The instruction before a return address, relative to the library.
inline uint32_t offset_of(void const* return_address) {
  return uint32_t(static_cast<char const*>(return_address) - &__ehdr_start - 1);
}

class Calls {
 public:
  void reset(int fibers) {
    // The tree stays: most launches call the same functions.
    standing_.assign(size_t(fibers), 0);
  }

  void begin(int fiber) { standing_[fiber] = 0; }

  void enter(int fiber, uint32_t caller) {
    uint64_t const key = uint64_t(standing_[fiber]) << 32 | caller;
    auto const [found, fresh] = children_.try_emplace(key, uint32_t(nodes_.size()));
    if (fresh) nodes_.push_back({standing_[fiber], caller});
    standing_[fiber] = found->second;
  }

  void leave(int fiber) { standing_[fiber] = nodes_[standing_[fiber]].parent; }

  uint32_t standing(int fiber) const { return standing_[fiber]; }

  // A place for the executor to look up: the innermost address first, then its callers'.
  std::string place(uint32_t address, uint32_t calls) const {
    char text[24];
    snprintf(text, sizeof(text), "{at:%x", address);
    std::string all = text;
    for (int depth = 0; calls && depth < 32; calls = nodes_[calls].parent, ++depth) {
      snprintf(text, sizeof(text), ",%x", nodes_[calls].caller);
      all += text;
    }
    return all + "}";
  }

 private:
  struct Node {
    uint32_t parent;
    uint32_t caller;
  };

  std::vector<Node> nodes_{{0, 0}};
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<uint32_t> standing_;
};

}  // namespace checking
}  // namespace cutegen_emu
