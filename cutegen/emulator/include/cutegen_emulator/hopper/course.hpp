// The course of what is under way: it begins with a cluster, advances when no thread can, and ends.
#pragma once

#include <cutegen_emulator/hopper/copies.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

Asynchronous& Asynchronous::of(Machine& m) {
  if (!m.asynchronous) {
    m.asynchronous = std::make_shared<Asynchronous>();
    m.when_stalled([](Machine& stalled) { return of(stalled).advance(stalled); });
    m.when_ended([](Machine& ended) { of(ended).finish(ended); });
  }
  auto& self = *static_cast<Asynchronous*>(m.asynchronous.get());
  if (self.generation_ != m.generation()) self.begin(m);
  return self;
}

void Asynchronous::begin(Machine& m) {
  generation_ = m.generation();
  size_t const fibers = size_t(m.block_count()) * m.stride();
  barriers.clear();
  named.assign(size_t(m.block_count()) * kNamedBarriers, {});
  cluster = {};
  cluster_arrivals.assign(fibers, 0);
  cluster_waits.assign(fibers, 0);
  timed_out.assign(fibers, false);
  loads.clear();
  stores.assign(fibers, {});
  warpgroups.assign(size_t(m.block_count()) * Warpgroup::kMost, {});
  products.assign(fibers, {});
  timeouts_ = 0;
}

bool Asynchronous::advance(Machine& m) {
  uint64_t const before = woken_;
  for (int fiber : cluster.waiters) {
    if (cluster.completed < cluster_waits[fiber]) {
      try_cluster_barrier(*this, m);
      break;
    }
  }
  while (woken_ == before && !loads.empty()) {
    size_t const which =
        m.launch().order == Order::kRandom ? m.random().below(uint32_t(loads.size())) : 0;
    Copy const copy = loads[which];
    loads.erase(loads.begin() + which);
    execute_load(copy);
    timeouts_ = 0;
  }
  if (woken_ != before) return true;
  if (++timeouts_ > kMostTimeouts) return false;
  bool released = false;
  for (auto& entry : barriers) {
    std::vector<Waiter>& waiters = entry.second.waiters;
    for (size_t i = 0; i < waiters.size();) {
      if (!waiters[i].timed) {
        ++i;
        continue;
      }
      timed_out[waiters[i].fiber] = true;
      m.wake(waiters[i].fiber);
      waiters.erase(waiters.begin() + i);
      released = true;
    }
  }
  return released;
}

// The cluster has ended. What is still under way should have been waited for.
void Asynchronous::finish(Machine& m) {
  for (Copy const& copy : loads) {
    m.note(Fault::kRace, "line " + std::to_string(copy.line) + ": " + copy.what +
                             " into shared memory that nobody waited for before the block ended");
  }
  loads.clear();
  for (auto& groups : stores) {
    for (StoreGroup const& group : groups) {
      bool const waited = group.copies.empty();
      if (!waited) {
        m.note(Fault::kRace,
               "line " + std::to_string(group.copies[0].line) + ": " + group.copies[0].what +
                   " was not waited for before the block, and its shared memory, ended: "
                   "tma_store_arrive(), then tma_store_wait<0>()");
      }
      execute(group);
    }
    groups.clear();
  }
}

}  // namespace cutegen_emu
