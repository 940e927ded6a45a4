// A bulk copy as it is ordered: everything that its execution needs, later.
#pragma once

#include <cutegen_emulator/hopper/tensor_map.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

enum class Reduction : uint8_t { kNone, kAdd, kMin, kMax, kAnd, kOr, kXor };

struct Copy {
  char const* what;
  int line;
  int fiber;
  TensorMap map;              // of a box; its rank is 0 for plain bytes
  int32_t corner[5] = {};     // of the box, innermost first
  char* global = nullptr;     // of plain bytes
  char* shared = nullptr;     // in the ordering block's window
  uint64_t* barrier = nullptr;  // of a load, in the same window
  uint32_t bytes = 0;         // in shared memory, what lies out of bounds included
  uint16_t blocks = 0;        // of the cluster that a load goes to, as a mask
  Reduction reduction = Reduction::kNone;
  bool done = false;          // a store that was made at once, and is still to be waited for
};

struct StoreGroup {
  std::vector<Copy> copies;
  bool committed = false;
};

}  // namespace cutegen_emu
