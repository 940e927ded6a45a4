// Ordering bulk copies, and when they are made: in the order `fifo` as late as the rules allow, in
// `reverse` at once, in `random` by the toss of a coin. A missing wait shows in the first, and a
// buffer that is filled while it is still read in the second.
#pragma once

#include <cutegen_emulator/hopper/cluster.hpp>
#include <cutegen_emulator/hopper/tensor_copy.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline bool made_at_once() {
  switch (machine->launch().order) {
    case Order::kReverse: return true;
    case Order::kRandom: return machine->random().below(2) == 0;
    default: return false;
  }
}

inline void require_aligned(void const* address, size_t alignment, char const* what,
                            char const* which, int line) {
  uintptr_t const bits = reinterpret_cast<uintptr_t>(address);
  if (bits % alignment == 0) return;
  machine->fail(cudaErrorMisalignedAddress,
                std::string(what) + ": the " + which + " is a multiple of " +
                    std::to_string(bits & -bits) + " bytes, not of " + std::to_string(alignment),
                line);
}

inline TensorMap require_tensor_map(void const* descriptor, int dimensions, char const* what,
                                    int line) {
  require_aligned(descriptor, 64, what, "tensor map", line);
  TensorMap map;
  {
    checking::Unwatched own;
    memcpy(&map, descriptor, sizeof(map));
  }
  if (map.magic != TensorMap::kMagic) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + " with something that is no tensor map; make it with "
                  "make_tma_copy or cuTensorMapEncodeTiled, and pass it as a __grid_constant__",
                  line);
  }
  if (map.rank != dimensions) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + " with " + std::to_string(dimensions) +
                      " coordinates, of a tensor map of " + std::to_string(map.rank) +
                      " dimensions",
                  line);
  }
  return map;
}

inline void order_load(Copy copy) {
  copy.fiber = machine->current();
  Asynchronous& state = Asynchronous::now();
  for (int rank = 0; rank < 16; ++rank) {
    if (!(copy.blocks >> rank & 1)) continue;
    require_shared(copy.shared, copy.bytes, copy.what, copy.line);
    auto* word = static_cast<uint64_t*>(in_block(copy.barrier, rank, copy.what, copy.line));
    require_mbarrier(word, copy.what, copy.line);
    if (machine->launch().watched) {
      Copy there = copy;
      there.shared = static_cast<char*>(in_block(copy.shared, rank, copy.what, copy.line));
      tell_watcher(there, true);
      checking::release(word);
    }
  }
  if (made_at_once()) {
    execute_load(copy);
  } else {
    state.loads.push_back(copy);
  }
}

inline void order_store(Copy copy) {
  copy.fiber = machine->current();
  require_shared(copy.shared, copy.bytes, copy.what, copy.line);
  if (machine->launch().watched) tell_watcher(copy, false);
  if (made_at_once()) {
    execute_store(copy);
    copy.done = true;
  }
  auto& groups = Asynchronous::now().stores[copy.fiber];
  if (groups.empty() || groups.back().committed) groups.emplace_back();
  groups.back().copies.push_back(copy);
}

inline void execute(StoreGroup const& group) {
  for (Copy const& copy : group.copies) {
    if (!copy.done) execute_store(copy);
  }
}

inline void commit_stores() {
  auto& groups = Asynchronous::now().stores[machine->current()];
  if (groups.empty() || groups.back().committed) groups.emplace_back();
  groups.back().committed = true;
}

// All but the last `keep` committed groups have read shared memory, not sooner: who wrote to it
// meanwhile has to do with the watcher.
inline void wait_for_stores(int keep) {
  auto& groups = Asynchronous::now().stores[machine->current()];
  auto const committed = [&] {
    return int(std::count_if(groups.begin(), groups.end(),
                             [](StoreGroup const& group) { return group.committed; }));
  };
  while (committed() > keep) {
    if (machine->launch().watched) {
      for (Copy const& copy : groups.front().copies) tell_watcher(copy, false);
    }
    execute(groups.front());
    groups.pop_front();
  }
}

// st.async: a word for another block, and its bytes for the barrier there.
inline void store_remote(uint32_t value, uint32_t address, uint32_t barrier, int rank, int line) {
  char const* what = "store_shared_remote";
  void* word = in_block(from_shared_address(address, what, line), rank, what, line);
  auto* there = static_cast<uint64_t*>(
      in_block(from_shared_address(barrier, what, line), rank, what, line));
  TransactionBarrier& target = require_mbarrier(there, what, line);
  checking::writes(word, 4);
  checking::release(there);
  {
    checking::Unwatched own;
    memcpy(word, &value, 4);
  }
  complete_bytes(there, target, 4);
}

}  // namespace cutegen_emu
