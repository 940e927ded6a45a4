// Operations of a warp: shuffles, votes, reductions. The last lane of the mask to arrive computes
// everybody's result, so no lane can overtake another.
#pragma once

#include <cutegen_emulator/machine.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

using Evaluate = void (*)(WarpMeeting&);

template <class F>
inline void for_each_lane(WarpMeeting const& meeting, F const& f) {
  for (uint32_t rest = meeting.group; rest; rest &= rest - 1) f(__builtin_ctz(rest));
}

// Gives a lane what another one brought. A lane that is absent brings poison: NaN by default.
inline void take_from(WarpMeeting& meeting, int lane, int source) {
  WarpVisit& visit = meeting.lanes[lane].visit;
  if (meeting.has(source)) {
    visit.result = meeting.lanes[source].visit.value;
    return;
  }
  memset(&visit.result, meeting.launch->poison, sizeof(visit.result));
  machine->note(Fault::kDivergence, "line " + std::to_string(meeting.caller_line) + ": " +
                                        visit.what + " reads lane " + std::to_string(source) +
                                        ", which does not take part: what comes is undefined");
}

inline void shuffle_index(WarpMeeting& meeting) {
  for_each_lane(meeting, [&](int lane) {
    WarpVisit const& visit = meeting.lanes[lane].visit;
    take_from(meeting, lane, (lane & -visit.width) | (visit.argument & (visit.width - 1)));
  });
}

inline void shuffle_up(WarpMeeting& meeting) {
  for_each_lane(meeting, [&](int lane) {
    WarpVisit const& visit = meeting.lanes[lane].visit;
    int const source = lane - visit.argument;
    take_from(meeting, lane, source < (lane & -visit.width) ? lane : source);
  });
}

inline void shuffle_down(WarpMeeting& meeting) {
  for_each_lane(meeting, [&](int lane) {
    WarpVisit const& visit = meeting.lanes[lane].visit;
    int const source = lane + visit.argument;
    take_from(meeting, lane, source >= (lane & -visit.width) + visit.width ? lane : source);
  });
}

inline void shuffle_xor(WarpMeeting& meeting) {
  for_each_lane(meeting, [&](int lane) {
    WarpVisit const& visit = meeting.lanes[lane].visit;
    int const source = lane ^ visit.argument;
    take_from(meeting, lane, source >= (lane & -visit.width) + visit.width ? lane : source);
  });
}

// The lanes whose predicate is true.
inline void ballot(WarpMeeting& meeting) {
  uint32_t votes = 0;
  for_each_lane(meeting, [&](int lane) {
    if (meeting.lanes[lane].visit.value) votes |= 1u << lane;
  });
  for_each_lane(meeting, [&](int lane) { meeting.lanes[lane].visit.result = votes; });
}

inline void vote_all(WarpMeeting& meeting) {
  bool all = true;
  for_each_lane(meeting, [&](int lane) { all = all && meeting.lanes[lane].visit.value; });
  for_each_lane(meeting, [&](int lane) { meeting.lanes[lane].visit.result = all; });
}

// The lanes that brought the same value.
inline void match(WarpMeeting& meeting) {
  for_each_lane(meeting, [&](int lane) {
    uint32_t same = 0;
    for_each_lane(meeting, [&](int other) {
      if (meeting.lanes[other].visit.value == meeting.lanes[lane].visit.value) same |= 1u << other;
    });
    meeting.lanes[lane].visit.result = same;
  });
}

template <class T, class Combine>
inline void reduce(WarpMeeting& meeting) {
  T total{};
  bool first = true;
  for_each_lane(meeting, [&](int lane) {
    T const value = T(meeting.lanes[lane].visit.value);
    total = first ? value : T(Combine{}(total, value));
    first = false;
  });
  for_each_lane(meeting, [&](int lane) {
    meeting.lanes[lane].visit.result = uint32_t(total);
  });
}

struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

inline uint64_t meet(char const* what, Evaluate evaluate, uint32_t mask, uint64_t value, int line,
                     int argument = 0, int width = kWarp) {
  return machine->meet_warp({what, evaluate, mask, argument, width, value, 0}, line);
}

template <class T>
inline T shuffle(char const* what, Evaluate evaluate, uint32_t mask, T value, int argument,
                 int width, int line) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value,
                "a shuffle moves a value of 8 bytes at most");
  if (width < 1 || width > kWarp || (width & (width - 1))) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + " with a width that is no power of two up to 32");
  }
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  word = meet(what, evaluate, mask, word, line, argument, width);
  memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T>
inline uint64_t word_of(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 4 or 8 bytes are matched");
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  return word;
}

}  // namespace cutegen_emu

template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
                     int line = __builtin_LINE()) {
  return cutegen_emu::shuffle("__shfl_sync", cutegen_emu::shuffle_index, mask, value, lane, width,
                              line);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                        int line = __builtin_LINE()) {
  return cutegen_emu::shuffle("__shfl_up_sync", cutegen_emu::shuffle_up, mask, value, int(delta),
                              width, line);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                          int line = __builtin_LINE()) {
  return cutegen_emu::shuffle("__shfl_down_sync", cutegen_emu::shuffle_down, mask, value,
                              int(delta), width, line);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                         int line = __builtin_LINE()) {
  return cutegen_emu::shuffle("__shfl_xor_sync", cutegen_emu::shuffle_xor, mask, value, lane_mask,
                              width, line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  cutegen_emu::meet("__syncwarp", nullptr, mask, 0, line);
}

inline unsigned __activemask(int line = __builtin_LINE()) {
  return cutegen_emu::machine->active_mask(line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return unsigned(
      cutegen_emu::meet("__ballot_sync", cutegen_emu::ballot, mask, predicate != 0, line));
}

inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return cutegen_emu::meet("__any_sync", cutegen_emu::ballot, mask, predicate != 0, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return int(cutegen_emu::meet("__all_sync", cutegen_emu::vote_all, mask, predicate != 0, line));
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
  return unsigned(cutegen_emu::meet("__match_any_sync", cutegen_emu::match, mask,
                                    cutegen_emu::word_of(value), line));
}

template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all, int line = __builtin_LINE()) {
  unsigned const same = unsigned(cutegen_emu::meet("__match_all_sync", cutegen_emu::match, mask,
                                                   cutegen_emu::word_of(value), line));
  *all = same == mask;
  return *all ? mask : 0;
}

#define CUTEGEN_EMU_REDUCE(NAME, T, COMBINE)                                               \
  inline T NAME(unsigned mask, T value, int line = __builtin_LINE()) {                     \
    return T(cutegen_emu::meet(#NAME, cutegen_emu::reduce<T, COMBINE>, mask,               \
                               uint32_t(value), line));                                    \
  }
CUTEGEN_EMU_REDUCE(__reduce_add_sync, unsigned, std::plus<unsigned>)
CUTEGEN_EMU_REDUCE(__reduce_add_sync, int, std::plus<unsigned>)
CUTEGEN_EMU_REDUCE(__reduce_min_sync, unsigned, cutegen_emu::Least)
CUTEGEN_EMU_REDUCE(__reduce_min_sync, int, cutegen_emu::Least)
CUTEGEN_EMU_REDUCE(__reduce_max_sync, unsigned, cutegen_emu::Greatest)
CUTEGEN_EMU_REDUCE(__reduce_max_sync, int, cutegen_emu::Greatest)
CUTEGEN_EMU_REDUCE(__reduce_and_sync, unsigned, std::bit_and<unsigned>)
CUTEGEN_EMU_REDUCE(__reduce_or_sync, unsigned, std::bit_or<unsigned>)
CUTEGEN_EMU_REDUCE(__reduce_xor_sync, unsigned, std::bit_xor<unsigned>)
#undef CUTEGEN_EMU_REDUCE
