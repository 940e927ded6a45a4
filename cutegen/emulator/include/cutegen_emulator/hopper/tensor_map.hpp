// A tensor map: what cuTensorMapEncodeTiled was told, in the 128 bytes of the descriptor.
#pragma once

#include <cutegen_emulator/standard.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

struct TensorMap {
  static constexpr uint32_t kMagic = 0x75433e54;
  static constexpr int kMostDimensions = 5;

  uint32_t magic = 0;
  uint8_t rank = 0;
  uint8_t type = 0;     // CUtensorMapDataType
  uint8_t swizzle = 0;  // a CUtensorMapSwizzle: the width is 16 bytes << swizzle
  uint8_t nan_fill = 0;
  uint8_t step[kMostDimensions] = {};    // between elements taken
  uint16_t box[kMostDimensions] = {};    // elements, before steps
  uint32_t last[kMostDimensions] = {};   // size of the tensor less one
  uint64_t address = 0;
  uint64_t stride[kMostDimensions] = {};  // bytes; that of the first dimension is an element

  int64_t size(int d) const { return int64_t(last[d]) + 1; }
  int taken(int d) const { return (box[d] + step[d] - 1) / step[d]; }
  size_t row_bytes() const { return taken(0) * stride[0]; }
  size_t box_bytes() const {
    size_t bytes = row_bytes();
    for (int d = 1; d < rank; ++d) bytes *= taken(d);
    return bytes;
  }
};
static_assert(sizeof(TensorMap) <= 128, "it must fit into a CUtensorMap");

// Where a tile's byte lies in swizzled shared memory: the bank of 16 bytes is exchanged by the
// address of the 128-byte line. The same exchange serves TMA and wgmma.
inline uintptr_t swizzled(uintptr_t address, unsigned swizzle) {
  return address ^ ((address >> 7 & ((1u << swizzle) - 1)) << 4);
}

}  // namespace cutegen_emu
