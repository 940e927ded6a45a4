// One machine's watcher: every access of its threads, against what the memory is and who else
// used it. Out-of-bounds and misaligned accesses and races end the launch; reading shared memory
// that nobody has written is noted, for a kernel may do that and never use the value.
#pragma once

#include <cutegen_emulator/checking.hpp>
#include <cutegen_emulator/machine.hpp>
#include <unordered_set>

#include "calls.hpp"
#include "device_memory.hpp"
#include "order.hpp"
#include "shadow.hpp"

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {

enum class Kind : uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite, kUpdate };

constexpr bool reading(Kind kind) { return kind == Kind::kRead || kind == Kind::kAtomicRead; }
constexpr bool writing_only(Kind kind) {
  return kind == Kind::kWrite || kind == Kind::kAtomicWrite;
}
constexpr bool atomic(Kind kind) { return kind != Kind::kRead && kind != Kind::kWrite; }

inline char const* verb(Kind kind) {
  return reading(kind) ? "reads " : writing_only(kind) ? "writes " : "updates ";
}

inline uint32_t turns = 0;          // clusters that were begun, by all launches
inline uint32_t first_of_launch = 0;  // turns up to this one are of earlier launches

class Watcher {
 public:
  explicit Watcher(Machine& machine) : machine_(machine) {}

  void begin_thread() { calls_.begin(machine_.current()); }
  void enter(void const* caller) { calls_.enter(machine_.current(), offset_of(caller)); }
  void leave() { calls_.leave(machine_.current()); }

  void block_met(int rank) {
    settle();
    order_.meet_block(rank * machine_.stride(), machine_.threads());
  }
  void warp_met(int warp, uint32_t group) {
    settle();
    order_.meet_warp(warp * kWarp, group);
  }
  void release(void const* subject) {
    settle();
    order_.release(machine_.current(), subject);
  }
  void acquire(void const* subject) { order_.acquire(machine_.current(), subject); }

  void begin_cluster() {
    int const fibers = machine_.block_count() * machine_.stride();
    turn_ = ++turns;
    order_.reset(fibers);
    calls_.reset(fibers);
    after_atomic_ = false;
    doubt_.bytes = 0;
    while (int(shared_.size()) < machine_.block_count()) {
      shared_.emplace_back(machine_.block(int(shared_.size())).shared->window_bytes());
    }
  }

  void access(uintptr_t address, size_t bytes, Kind kind, void const* return_address) {
    settle();
    for (int rank = 0; rank < machine_.block_count(); ++rank) {
      SharedMemory& shared = *machine_.block(rank).shared;
      if (!shared.reserved(address)) continue;
      Access const now = access_at(return_address, kind);
      if (!shared.holds(address, bytes)) {
        refuse(now, kind, bytes, shared.beside(address));
      }
      Shadow& shadow = shared_[rank];
      size_t const first = address - shared.window();
      for (size_t i = 0; i < bytes; ++i) {
        Cell& cell = shadow[first + i];
        if (!writing_only(kind) && cell.write.turn != turn_) unwritten(now, bytes, "shared memory");
        forget_older(cell);
        check(cell, now, kind, address, bytes, "shared memory");
      }
      return;
    }
    if (address < kNoPage) {
      refuse(access_at(return_address, kind), kind, bytes, "through a null pointer");
    }
    if (!device_memory().has(address)) return;
    Access const now = access_at(return_address, kind);
    Tensor* tensor = device_memory().find(address, bytes);
    if (!tensor) refuse(now, kind, bytes, device_memory().beside(address, bytes));
    if (atomic(kind)) after_atomic_ = true;
    // Each element has one cell: an access to a part of one may be overlooked, never suspected.
    size_t const element = tensor->element;
    size_t const first = (address - tensor->begin + element - 1) / element;
    size_t const last = (address - tensor->begin + bytes) / element;
    for (size_t i = first; i < last; ++i) {
      Cell& cell = tensor->shadow[i];
      if (!tensor->written && !writing_only(kind) && !cell.write.turn) {
        unwritten(now, bytes, tensor->name);
      }
      check(cell, now, kind, address, bytes, tensor->name.c_str());
    }
  }

  // Where the running thread is, for the executor to look up.
  std::string place_of(void const* return_address) const {
    return calls_.place(offset_of(return_address), calls_.standing(machine_.current()));
  }

  // Two threads that write the same value one after the other do no harm: only when the second
  // value is in place can a race of two writes be told.
  void settle() {
    if (doubt_.bytes == 0) return;
    size_t const bytes = std::exchange(doubt_.bytes, 0);
    if (memcmp(doubt_.before, reinterpret_cast<void const*>(doubt_.address), bytes) == 0) return;
    race(doubt_.earlier, doubt_.now, "writes", "wrote", doubt_.size, doubt_.what);
  }

 private:
  static constexpr uintptr_t kNoPage = 1 << 16;  // no system maps anything below

  struct Doubt {
    uintptr_t address;
    size_t bytes;  // of it that are kept; 0: there is none
    size_t size;
    char before[64];
    Access earlier;
    Access now;
    char const* what;
  };

  Access access_at(void const* return_address, Kind kind) {
    int const fiber = machine_.current();
    return {turn_, order_.now(fiber), offset_of(return_address), calls_.standing(fiber),
            uint16_t(fiber), atomic(kind)};
  }

  // Shared memory of an earlier cluster was other memory.
  void forget_older(Cell& cell) const {
    for (Access* access : {&cell.write, &cell.read[0], &cell.read[1]}) {
      if (access->turn != turn_) access->turn = 0;
    }
  }

  bool over(Access const& earlier, Access const& now) const {
    if (earlier.turn == turn_) return order_.knows(now.fiber, earlier.fiber, earlier.clock);
    // Another block's: only a wait on an atomic can have put it before this one.
    return earlier.turn <= first_of_launch || after_atomic_;
  }

  bool conflict(Access const& earlier, Access const& now) const {
    return earlier.turn && !(earlier.atomic && now.atomic) && !over(earlier, now);
  }

  void check(Cell& cell, Access const& now, Kind kind, uintptr_t address, size_t bytes,
             char const* what) {
    if (reading(kind)) {
      if (conflict(cell.write, now)) race(cell.write, now, "reads", "wrote", bytes, what);
      bool const second = cell.read[0].turn && !over(cell.read[0], now);
      cell.read[second] = now;
      return;
    }
    for (Access const& read : cell.read) {
      if (conflict(read, now)) race(read, now, "writes", "read", bytes, what);
    }
    if (conflict(cell.write, now) && doubt_.bytes == 0) {
      doubt_ = {address, std::min(bytes, sizeof(doubt_.before)), bytes, {}, cell.write, now, what};
      memcpy(doubt_.before, reinterpret_cast<void const*>(address), doubt_.bytes);
    }
    cell.write = now;
    cell.read[0].turn = cell.read[1].turn = 0;
  }

  void refuse(Access const& now, Kind kind, size_t bytes, std::string const& where) {
    machine_.fail(Fault::kOutOfBounds, cudaErrorIllegalAddress,
                  place(now) + verb(kind) + std::to_string(bytes) + " bytes, " + where);
  }

  void unwritten(Access const& now, size_t bytes, std::string const& what) {
    if (!noted_.insert(now.address).second) return;
    machine_.note(Fault::kUninitialized,
                  place(now) + "reads " + std::to_string(bytes) +
                      " bytes of " + what + " that nobody has written (" +
                      machine_.where(now.fiber) + ")");
  }

  void race(Access const& earlier, Access const& now, char const* does, char const* did,
            size_t bytes, std::string const& what) {
    bool const same_block = earlier.turn == now.turn;
    std::string const who =
        same_block ? machine_.where(earlier.fiber) : std::string("a thread of another block");
    std::string text = place(now) + does + " " + std::to_string(bytes) + " bytes of " + what +
                       " that " + who + " " + did + " at " +
                       calls_.place(earlier.address, earlier.calls) +
                       (same_block ? ", and nothing orders the two" : " in the same launch") +
                       " (" + machine_.where(now.fiber) + ")";
    if (machine_.on_fiber()) {
      machine_.give_up(Fault::kRace, cudaErrorLaunchFailure, text);
    } else if (!machine_.launch().failed.exchange(true)) {
      report("fault", Fault::kRace, machine_.launch().kernel, text);
      record_sticky(cudaErrorLaunchFailure);
    }
  }

  std::string place(Access const& access) const {
    return calls_.place(access.address, access.calls) + ": ";
  }

  Machine& machine_;
  Calls calls_;
  Order order_;
  std::vector<Shadow> shared_;
  uint32_t turn_ = 0;
  bool after_atomic_ = false;  // this cluster may have waited for another one
  Doubt doubt_{};
  std::unordered_set<uint32_t> noted_;
};

}  // namespace checking
}  // namespace cutegen_emu
