// The storage of a block's shared memory: one window that variables are placed in.
#pragma once

#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The window of one block: dynamic shared memory first, static variables after it. What nobody
// has written holds the launch's poison. The red zones behind each variable are 0xff, and at the
// end of the block they must still be.
class SharedMemory {
 public:
  static constexpr size_t kRedZone = 128;
  static constexpr size_t kAlign = 128;

  SharedMemory() {
    size_t const bytes = kSmemPerSm + (256 << 10);  // the second part is for red zones
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      fprintf(stderr, "cutegen emulator: no memory for shared memory\n");
      abort();
    }
    base_ = static_cast<char*>(base);
    end_ = bytes;
  }

  void begin_block(size_t dynamic_bytes, uint8_t poison) {
    poison_ = poison;
    top_ = used_ = 0;
    zones_.clear();
    for (auto& place : places_) place = nullptr;
    claim(dynamic_bytes, kAlign);
    for (auto const& global : globals_) memset(global.first, poison, global.second);
  }

  char* dynamic() { return base_; }

  // Whether these bytes lie in the window, as far as it is in use.
  bool holds(void const* address, size_t bytes) const {
    char const* at = static_cast<char const*>(address);
    return at >= base_ && at < base_ + top_ && bytes <= size_t(base_ + top_ - at);
  }
  size_t dynamic_bytes() const { return zones_.empty() ? 0 : zones_[0].size; }
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
    for (Zone const& zone : zones_) {
      for (size_t i = 0; i < kRedZone; i += 8) {
        uint64_t word;
        memcpy(&word, zone.begin + i, 8);
        if (word != ~uint64_t(0)) return long(zone.size);
      }
    }
    return -1;
  }

 private:
  struct Zone {
    char* begin;
    size_t size;  // of the variable before it
  };

  char* claim(size_t bytes, size_t align) {
    size_t const step = align < kAlign ? kAlign : align;
    size_t const begin = (top_ + step - 1) / step * step;
    if (begin + bytes + kRedZone > end_) return nullptr;
    // The red zone begins at the variable's very end, rounded up to the words it is checked in.
    size_t const red = (bytes + 7) / 8 * 8;
    memset(base_ + begin, poison_, bytes);
    memset(base_ + begin + bytes, 0xff, red - bytes + kRedZone);
    zones_.push_back({base_ + begin + red, bytes});
    top_ = begin + red + kRedZone;
    used_ += bytes;
    return base_ + begin;
  }

  char* base_;
  uint8_t poison_ = 0xff;
  size_t end_;
  size_t top_ = 0;
  size_t used_ = 0;
  std::vector<Zone> zones_;
  std::vector<char*> places_;
  std::vector<std::pair<char*, size_t>> globals_;
};

}  // namespace cutegen_emu
