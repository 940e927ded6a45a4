// Who last wrote and read each element, or byte, of a piece of memory.
#pragma once

#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {

struct Access {
  uint32_t turn;  // which cluster, counted since the library was loaded; 0: there was no access
  uint32_t clock;
  uint32_t address;  // of the instruction
  uint32_t calls;
  uint16_t fiber;
  bool atomic;
};

// Two readers of one cell may both be unordered with a later writer; more are forgotten.
struct Cell {
  Access write;
  Access read[2];
};

class Shadow {
 public:
  explicit Shadow(size_t cells) : bytes_(cells * sizeof(Cell)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      fprintf(stderr, "cutegen emulator: no memory to watch %zu cells\n", cells);
      abort();
    }
    cells_ = static_cast<Cell*>(memory);
  }
  Shadow(Shadow&& other) noexcept
      : cells_(std::exchange(other.cells_, nullptr)), bytes_(other.bytes_) {}
  Shadow& operator=(Shadow&& other) noexcept {
    std::swap(cells_, other.cells_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Shadow() {
    if (cells_) munmap(cells_, bytes_);
  }

  Cell& operator[](size_t number) { return cells_[number]; }

 private:
  Cell* cells_;
  size_t bytes_;
};

}  // namespace checking
}  // namespace cutegen_emu
