// Executes bulk copies: boxes of a tensor with bounds, fill, rounding and swizzle, or plain bytes.
#pragma once

#include <cutegen_emulator/half_bits.hpp>
#include <cutegen_emulator/hopper/mbarrier.hpp>
#include <cutegen_emulator/hopper/tensor_types.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// Calls f(global, shared, bytes, valid) for pieces that are contiguous on both sides; `global` is
// null where the box lies outside the tensor.
template <class F>
inline void for_each_piece(Copy const& copy, char* shared, F const& f) {
  TensorMap const& map = copy.map;
  if (map.rank == 0) {
    f(copy.global, shared, size_t(copy.bytes));
    return;
  }
  size_t const element = size_t(map.stride[0]);
  int const across = map.taken(0);
  int index[TensorMap::kMostDimensions] = {};
  uintptr_t linear = reinterpret_cast<uintptr_t>(shared);
  for (;;) {
    bool inside = true;
    int64_t row = int64_t(map.address);
    for (int d = 1; d < map.rank; ++d) {
      int64_t const at = int64_t(copy.corner[d]) + int64_t(index[d]) * map.step[d];
      inside = inside && at >= 0 && at < map.size(d);
      row += at * int64_t(map.stride[d]);
    }
    // Runs of elements within 16 bytes of shared memory, all inside or all outside.
    for (int i = 0; i < across;) {
      auto const valid = [&](int j) {
        int64_t const at = int64_t(copy.corner[0]) + int64_t(j) * map.step[0];
        return inside && at >= 0 && at < map.size(0);
      };
      bool const here = valid(i);
      uintptr_t const at = linear + i * element;
      int const room = int((16 - at % 16) / element);
      int const most = map.step[0] == 1 ? std::min(room, across - i) : 1;
      int run = 1;
      while (run < most && valid(i + run) == here) ++run;
      int64_t const first = int64_t(copy.corner[0]) + int64_t(i) * map.step[0];
      char* global = here ? reinterpret_cast<char*>(row + first * int64_t(element)) : nullptr;
      f(global, reinterpret_cast<char*>(swizzled(at, map.swizzle)), run * element);
      i += run;
    }
    linear += across * element;
    int d = 1;
    while (d < map.rank && ++index[d] == map.taken(d)) index[d++] = 0;
    if (d >= map.rank) return;
  }
}

inline void execute_load(Copy const& copy) {
  checking::Unwatched own;
  for (int rank = 0; rank < machine->block_count(); ++rank) {
    if (!(copy.blocks >> rank & 1)) continue;
    int const owner = owner_of(copy.shared);
    char* base = machine->block(rank).shared->dynamic();
    ptrdiff_t const shift = base - machine->block(owner).shared->dynamic();
    for_each_piece(copy, copy.shared + shift, [&](char* global, char* shared, size_t bytes) {
      if (global) {
        load_elements(copy.map, shared, global, bytes);
      } else {
        fill_outside(copy.map, shared, bytes);
      }
    });
    auto* word = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(copy.barrier) + shift);
    auto& barriers = Asynchronous::now().barriers;
    auto const found = barriers.find(word);
    // It was there when the copy was ordered; a later initialisation forgets the bytes.
    if (found != barriers.end()) complete_bytes(word, found->second, copy.bytes);
  }
}

inline void execute_store(Copy const& copy) {
  checking::Unwatched own;
  for_each_piece(copy, copy.shared, [&](char* global, char* shared, size_t bytes) {
    if (!global) return;
    if (copy.reduction == Reduction::kNone) {
      memcpy(global, shared, bytes);
    } else {
      reduce_elements(copy, global, shared, bytes);
    }
  });
  if (machine->on_fiber()) changed();
}

// Tells the watcher what a copy will read and write, when it is ordered.
inline void tell_watcher(Copy const& copy, bool loads) {
  for_each_piece(copy, copy.shared, [&](char* global, char* shared, size_t bytes) {
    if (loads) {
      if (global) checking::reads(global, bytes);
      checking::writes(shared, bytes);
    } else {
      checking::reads(shared, bytes);
      if (global) checking::writes(global, bytes);
    }
  });
}

}  // namespace cutegen_emu
