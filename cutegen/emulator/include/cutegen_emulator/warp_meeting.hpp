// Where lanes of a warp wait for each other. The last one to come computes everybody's result.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline constexpr char const* kActiveMask = "__activemask";

// Completes the meeting that `mask` names, if everyone alive in it has come. `caller` goes on
// without a switch; everybody else becomes ready.
bool Machine::try_meeting(int warp_index, uint32_t mask, int caller) {
  Warp& warp = warps_[warp_index];
  uint32_t const group = mask & warp.alive;
  if (!group || (warp.waiting & group) != group) return false;
  Fiber* lanes = &fibers_[warp_index * kWarp];
  Fiber const& first = lanes[__builtin_ctz(group)];
  for (uint32_t rest = group; rest; rest &= rest - 1) {
    WarpVisit const& visit = lanes[__builtin_ctz(rest)].visit;
    if ((visit.mask & warp.alive) != group || visit.what != first.visit.what) return false;
  }
  if (first.visit.what == kActiveMask) return false;  // that one waits for a stall
  WarpMeeting meeting{lanes, group, first.parking.line, launch_};
  // What the lanes bring was written before; what they take may be used after.
  if (watcher) checking::warp_met(*watcher, warp_index, group);
  if (first.visit.evaluate) {
    first.visit.evaluate(meeting);
    if (watcher) checking::warp_met(*watcher, warp_index, group);
  }
  warp.waiting &= ~group;
  progressed();
  for (uint32_t rest = group; rest; rest &= rest - 1) {
    int const fiber = warp_index * kWarp + __builtin_ctz(rest);
    fibers_[fiber].wait = Wait::kNothing;
    if (fiber != caller) make_ready(fiber);
  }
  return true;
}

uint64_t Machine::meet_warp(WarpVisit const& visit, int line) {
  Fiber& fiber = fibers_[current_];
  int const warp = current_ / kWarp;
  uint32_t const bit = 1u << (current_ % kWarp);
  fiber.visit = visit;
  fiber.parking = {visit.what, line};
  fiber.wait = Wait::kWarp;
  warps_[warp].waiting |= bit;
  if (!(visit.mask & bit)) {
    fail(Fault::kDivergence, cudaErrorLaunchFailure,
         std::string(visit.what) + " with a mask that lacks its own lane", line);
  }
  if (!try_meeting(warp, visit.mask, current_)) suspend();
  return fiber.visit.result;
}

uint32_t Machine::active_mask(int line) {
  // Which lanes stand together is known only when none of them can go on by itself.
  return uint32_t(meet_warp({kActiveMask, nullptr, ~0u, 0, 0, 0, 0}, line));
}

// Lanes at one __activemask() are together once nothing else in the cluster can move.
bool Machine::release_active_masks() {
  bool released = false;
  for (int w = 0; w < int(warps_.size()); ++w) {
    Fiber* lanes = &fibers_[w * kWarp];
    uint32_t together = 0;
    int line = 0;
    for (uint32_t rest = warps_[w].waiting; rest; rest &= rest - 1) {
      int const lane = __builtin_ctz(rest);
      if (lanes[lane].visit.what != kActiveMask) continue;
      if (!together) line = lanes[lane].parking.line;
      if (lanes[lane].parking.line == line) together |= 1u << lane;
    }
    warps_[w].waiting &= ~together;
    for (uint32_t rest = together; rest; rest &= rest - 1) {
      int const lane = __builtin_ctz(rest);
      lanes[lane].visit.result = together;
      make_ready(w * kWarp + lane);
      released = true;
    }
  }
  return released;
}

}  // namespace cutegen_emu
