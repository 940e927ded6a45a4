// The storage of a block's shared memory: one window that variables are placed in.
#pragma once

#include <cutegen_emulator/checking.hpp>
#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The window of one block: dynamic shared memory first, static variables after it. What nobody
// has written holds the launch's poison. The red zones behind each variable are 0xff, and at the
// end of the block they must still be.
class SharedMemory {
 public:
  static constexpr size_t kRedZone = 128;
  static constexpr size_t kAlign = 128;
  static constexpr size_t kWindow = kSmemPerSm + (256 << 10);  // the second part is for red zones
  static constexpr size_t kApart = 8 << 20;  // on both sides nothing is mapped

  SharedMemory() {
    void* base = mmap(nullptr, kWindow + 2 * kApart, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED ||
        mprotect(static_cast<char*>(base) + kApart, kWindow, PROT_READ | PROT_WRITE) != 0) {
      fprintf(stderr, "cutegen emulator: no memory for shared memory\n");
      abort();
    }
    base_ = static_cast<char*>(base) + kApart;
  }

  void begin_block(size_t dynamic_bytes, uint8_t poison) {
    poison_ = poison;
    top_ = used_ = 0;
    variables_.clear();
    for (auto& place : places_) place = nullptr;
    claim(dynamic_bytes, kAlign);
    for (auto const& global : globals_) memset(global.first, poison, global.second);
  }

  char* dynamic() { return base_; }
  size_t dynamic_bytes() const { return variables_.empty() ? 0 : variables_[0].bytes; }
  size_t static_bytes() const { return used_ - dynamic_bytes(); }

  // The variable number `id` of this block; null when there is no room for it.
  char* variable(int id, size_t bytes, size_t align) {
    if (size_t(id) >= places_.size()) places_.resize(id + 1);
    char*& place = places_[id];
    if (!place) place = claim(bytes, align);
    return place;
  }

  // A variable of namespace scope, for good.
  char* global(size_t bytes, size_t align) {
    void* place = nullptr;
    if (posix_memalign(&place, align < kAlign ? kAlign : align, bytes) != 0) abort();
    memset(place, 0xff, bytes);
    globals_.emplace_back(static_cast<char*>(place), bytes);
    return globals_.back().first;
  }

  // Size of the first variable that was written beyond, or -1.
  long overrun() const {
    for (Variable const& variable : variables_) {
      char const* zone = variable.begin + rounded(variable.bytes);
      for (size_t i = 0; i < kRedZone; i += 8) {
        uint64_t word;
        memcpy(&word, zone + i, 8);
        if (word != ~uint64_t(0)) return long(variable.bytes);
      }
    }
    return -1;
  }

  uintptr_t window() const { return reinterpret_cast<uintptr_t>(base_); }
  size_t window_bytes() const { return kWindow; }

  // Whether these bytes lie in the window, as far as it is in use.
  bool in_use(void const* address, size_t bytes) const {
    char const* at = static_cast<char const*>(address);
    return at >= base_ && at < base_ + top_ && bytes <= size_t(base_ + top_ - at);
  }

  // Whether an address can be meant for this memory only.
  bool reserved(uintptr_t address) const {
    return address - (window() - kApart) < kWindow + 2 * kApart;
  }

  // Whether one variable, or the dynamic memory, has all these bytes.
  bool holds(uintptr_t address, size_t bytes) const {
    for (Variable const& variable : variables_) {
      uintptr_t const begin = reinterpret_cast<uintptr_t>(variable.begin);
      if (address >= begin && address + bytes <= begin + variable.bytes) return true;
    }
    return false;
  }

  // Whether a variable of namespace scope has them.
  bool holds_global(void const* address, size_t bytes) const {
    char const* at = static_cast<char const*>(address);
    for (auto const& global : globals_) {
      if (at >= global.first && at + bytes <= global.first + global.second) return true;
    }
    return false;
  }

  // Where an address lies that no variable has, in words.
  std::string beside(uintptr_t address) const {
    Variable const* before = nullptr;
    for (Variable const& variable : variables_) {
      if (reinterpret_cast<uintptr_t>(variable.begin) <= address) before = &variable;
    }
    if (!before) return "before the start of shared memory";
    uintptr_t const end = reinterpret_cast<uintptr_t>(before->begin) + before->bytes;
    bool const dynamic = before == &variables_[0];
    std::string const whose =
        (dynamic ? "the dynamic shared memory of " : "a shared array of ") +
        std::to_string(before->bytes) + " bytes";
    if (address < end) return "across the end of " + whose;
    return std::to_string(address - end) + " bytes past the end of " + whose;
  }

 private:
  struct Variable {
    char* begin;
    size_t bytes;
  };

  // The red zone begins at the variable's very end, rounded up to the words it is checked in.
  static size_t rounded(size_t bytes) { return (bytes + 7) / 8 * 8; }

  char* claim(size_t bytes, size_t align) {
    size_t const step = align < kAlign ? kAlign : align;
    size_t const begin = (top_ + step - 1) / step * step;
    if (begin + bytes + kRedZone > kWindow) return nullptr;
    checking::Unwatched own;
    memset(base_ + begin, poison_, bytes);
    memset(base_ + begin + bytes, 0xff, rounded(bytes) - bytes + kRedZone);
    variables_.push_back({base_ + begin, bytes});
    top_ = begin + rounded(bytes) + kRedZone;
    used_ += bytes;
    return base_ + begin;
  }

  char* base_;
  uint8_t poison_ = 0xff;
  size_t top_ = 0;
  size_t used_ = 0;
  std::vector<Variable> variables_;
  std::vector<char*> places_;
  std::vector<std::pair<char*, size_t>> globals_;
};

}  // namespace cutegen_emu
