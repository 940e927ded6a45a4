// The tensors and the workspace of a launch, as the executor announces them. The address space
// around them is theirs as well: whoever reads or writes there meant one of them.
#pragma once

#include "shadow.hpp"

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {

struct Tensor {
  std::string name;
  uintptr_t begin;
  size_t bytes;
  size_t element;  // bytes
  bool written;    // before the launch
  Shadow shadow;   // a cell for each element
};

class DeviceMemory {
 public:
  void reset(uintptr_t begin, size_t bytes) {
    begin_ = begin;
    bytes_ = bytes;
    tensors_.clear();
  }

  void add(char const* name, uintptr_t begin, size_t bytes, size_t element, bool written) {
    tensors_.push_back({name, begin, bytes, element, written, Shadow(bytes / element + 1)});
  }

  bool has(uintptr_t address) const { return address - begin_ < bytes_; }

  // The tensor that holds all these bytes, or null.
  Tensor* find(uintptr_t address, size_t bytes) {
    for (Tensor& tensor : tensors_) {
      if (address >= tensor.begin && address + bytes <= tensor.begin + tensor.bytes) {
        return &tensor;
      }
    }
    return nullptr;
  }

  // The host has written: that turn is over for every kernel that comes.
  void written(uintptr_t address, size_t bytes, uint32_t turn) {
    Tensor* tensor = find(address, bytes);
    if (!tensor || tensor->written) return;
    size_t const first = (address - tensor->begin) / tensor->element;
    size_t const last = (address - tensor->begin + bytes) / tensor->element;
    for (size_t i = first; i < last; ++i) tensor->shadow[i].write.turn = turn;
  }

  // Where an access lies that no tensor holds, in words.
  std::string beside(uintptr_t address, size_t bytes) const {
    Tensor const* nearest = nullptr;
    size_t least = SIZE_MAX;
    for (Tensor const& tensor : tensors_) {
      size_t const distance = distance_of(tensor, address, bytes);
      if (distance < least) {
        least = distance;
        nearest = &tensor;
      }
    }
    if (!nearest) return "where no tensor lies";
    std::string const whose = nearest->name + " (" + std::to_string(nearest->bytes) + " bytes)";
    if (address < nearest->begin) {
      return std::to_string(nearest->begin - address) + " bytes before the start of " + whose;
    }
    uintptr_t const end = nearest->begin + nearest->bytes;
    if (address < end) return "across the end of " + whose;
    return std::to_string(address - end) + " bytes past the end of " + whose;
  }

 private:
  static size_t distance_of(Tensor const& tensor, uintptr_t address, size_t bytes) {
    if (address + bytes <= tensor.begin) return tensor.begin - address;
    uintptr_t const end = tensor.begin + tensor.bytes;
    return address < end ? 0 : address - end;
  }

  uintptr_t begin_ = 0;
  size_t bytes_ = 0;
  std::vector<Tensor> tensors_;
};

inline DeviceMemory& device_memory() {
  static DeviceMemory* memory = new DeviceMemory;
  return *memory;
}

}  // namespace checking
}  // namespace cutegen_emu
