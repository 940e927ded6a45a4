// CUTLASS's barrier classes, as the header cutlass/arch/barrier.h declares them.
#pragma once

#include <cutegen_emulator/hopper/copies.hpp>
#include <cutegen_emulator/hopper/named_barrier.hpp>

namespace cutlass {
namespace arch {

using cutegen_emu::Caller;

class NamedBarrier {
 public:
  static const uint32_t ReservedNamedBarrierCount =
      static_cast<uint32_t>(ReservedNamedBarriers::FirstUserBarrier);
  static const uint32_t HardwareMaxNumNamedBarriers = 16;

  NamedBarrier(uint32_t threads, ReservedNamedBarriers id)
      : threads_(threads), id_(static_cast<uint32_t>(id)) {}
  NamedBarrier(uint32_t threads, uint32_t id = 0)
      : threads_(threads), id_(id + ReservedNamedBarrierCount) {}

  void arrive_and_wait(Caller caller = {}) const { meet(id_, threads_, true, caller); }
  void arrive_and_wait_unaligned(Caller caller = {}) const { meet(id_, threads_, true, caller); }
  void arrive(Caller caller = {}) const { meet(id_, threads_, false, caller); }
  void arrive_unaligned(Caller caller = {}) const { meet(id_, threads_, false, caller); }
  void sync(Caller caller = {}) const { meet(id_, threads_, true, caller); }

  static void arrive_and_wait(uint32_t threads, uint32_t id, Caller caller = {}) {
    meet(id + ReservedNamedBarrierCount, threads, true, caller);
  }
  static void arrive_and_wait(uint32_t threads, ReservedNamedBarriers id, Caller caller = {}) {
    meet(static_cast<uint32_t>(id), threads, true, caller);
  }
  static void arrive(uint32_t threads, uint32_t id, Caller caller = {}) {
    meet(id + ReservedNamedBarrierCount, threads, false, caller);
  }
  static void arrive(uint32_t threads, ReservedNamedBarriers id, Caller caller = {}) {
    meet(static_cast<uint32_t>(id), threads, false, caller);
  }
  static void sync(uint32_t threads, uint32_t id, Caller caller = {}) {
    meet(id + ReservedNamedBarrierCount, threads, true, caller);
  }
  static void sync(uint32_t threads, ReservedNamedBarriers id, Caller caller = {}) {
    meet(static_cast<uint32_t>(id), threads, true, caller);
  }

 private:
  static void meet(uint32_t id, uint32_t threads, bool waits, Caller caller) {
    cutegen_emu::meet_at_named_barrier(
        id, threads, waits, waits ? "NamedBarrier::sync" : "NamedBarrier::arrive", caller.line);
  }

  uint32_t const threads_;
  uint32_t const id_;
};

struct ClusterBarrier {
  using ValueType = uint64_t;

 protected:
  ValueType barrier_;

 public:
  ClusterBarrier() = delete;

  void init(uint32_t arrivals, Caller caller = {}) const { init(&barrier_, arrivals, caller); }
  bool test_wait(uint32_t phase, uint32_t pred = true, Caller caller = {}) const {
    return test_wait(&barrier_, phase, pred, caller);
  }
  bool try_wait(uint32_t phase, Caller caller = {}) const {
    return try_wait(&barrier_, phase, caller);
  }
  void wait(uint32_t phase, Caller caller = {}) const { wait(&barrier_, phase, caller); }
  void arrive(Caller caller = {}) const { arrive(&barrier_, caller); }
  void arrive(uint32_t cta_id, uint32_t pred = true, Caller caller = {}) const {
    arrive(&barrier_, cta_id, pred, caller);
  }

  static void init(ValueType const* word, uint32_t arrivals, Caller caller = {}) {
    cutegen_emu::initialize_mbarrier(word, arrivals, caller.line);
  }
  static void wait(ValueType const* word, uint32_t phase, Caller caller = {}) {
    cutegen_emu::wait_for_phase(word, phase, false, "a wait for a barrier", caller.line);
  }
  static bool test_wait(ValueType const* word, uint32_t phase, uint32_t pred,
                        Caller caller = {}) {
    return pred && cutegen_emu::wait_for_phase(word, phase, true, "a test of a barrier",
                                               caller.line);
  }
  static bool try_wait(ValueType const* word, uint32_t phase, Caller caller = {}) {
    return cutegen_emu::wait_for_phase(word, phase, true, "a try to wait for a barrier",
                                       caller.line);
  }
  static void arrive(ValueType const* word, uint32_t cta_id, uint32_t pred, Caller caller = {}) {
    if (pred) cutegen_emu::arrive(of_block(word, cta_id, caller), 0, kArrival, caller.line);
  }
  static void arrive(ValueType const* word, Caller caller = {}) {
    cutegen_emu::arrive(word, 0, kArrival, caller.line);
  }
  static void invalidate(ValueType const* word, Caller caller = {}) {
    cutegen_emu::require_mbarrier(word, "the invalidation", caller.line);
    cutegen_emu::Asynchronous::now().barriers.erase(word);
  }

 protected:
  static constexpr char const* kArrival = "an arrival at a barrier";

  static ValueType const* of_block(ValueType const* word, uint32_t rank, Caller caller) {
    return static_cast<ValueType const*>(
        cutegen_emu::in_block(word, int(rank), kArrival, caller.line));
  }
};

struct ClusterTransactionBarrier : public ClusterBarrier {
  ClusterTransactionBarrier() = delete;

  void arrive_and_expect_tx(uint32_t bytes, Caller caller = {}) const {
    arrive_and_expect_tx(&barrier_, bytes, caller);
  }
  void arrive_and_expect_tx(uint32_t bytes, uint32_t cta_id, uint32_t pred = 1u,
                            Caller caller = {}) const {
    arrive_and_expect_tx(&barrier_, bytes, cta_id, pred, caller);
  }
  void expect_transaction(uint32_t bytes, Caller caller = {}) const {
    expect_transaction(&barrier_, bytes, caller);
  }
  void complete_transaction(uint32_t bytes, uint32_t pred = 1, Caller caller = {}) const {
    complete_transaction(&barrier_, uint32_t(cutegen_emu::machine->block_rank()), bytes, pred,
                         caller);
  }
  void complete_transaction(uint32_t cta_id, uint32_t bytes, uint32_t pred,
                            Caller caller = {}) const {
    complete_transaction(&barrier_, cta_id, bytes, pred, caller);
  }

  static void arrive_and_expect_tx(ValueType const* word, uint32_t bytes, Caller caller = {}) {
    cutegen_emu::arrive(word, bytes, kArrival, caller.line);
  }
  static void arrive_and_expect_tx(ValueType const* word, uint32_t bytes, uint32_t cta_id,
                                   uint32_t pred, Caller caller = {}) {
    if (pred) cutegen_emu::arrive(of_block(word, cta_id, caller), bytes, kArrival, caller.line);
  }
  static void expect_transaction(ValueType const* word, uint32_t bytes, Caller caller = {}) {
    cutegen_emu::expect_bytes(word, bytes, "expect_transaction", caller.line);
  }
  static void complete_transaction(ValueType const* word, uint32_t cta_id, uint32_t bytes,
                                   uint32_t pred = 1, Caller caller = {}) {
    if (!pred) return;
    ValueType const* there = of_block(word, cta_id, caller);
    cutegen_emu::complete_bytes(
        there, cutegen_emu::require_mbarrier(there, "complete_transaction", caller.line), bytes);
  }
};

inline void fence_barrier_init() {}
inline void fence_view_async_shared() {}

}  // namespace arch
}  // namespace cutlass
