// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between shared memory and
// the registers of a warp, as the PTX manual defines them.
//
// Row r of matrix j is at the address that lane 8 j + r brings; no other lane's address is read.
// Register j of lane t holds the elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4 of matrix j,
// or of its transpose.
#pragma once

#include <cutegen_emulator/atoms/shared_access.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

struct MatrixRows {
  void* row;            // 16 bytes of shared memory; null for a lane whose address is not read
  uint32_t* registers;  // one per matrix
};

// What is undefined when a lane stays away: the rows and registers that it would have brought.
inline void note_absent_lanes(WarpMeeting const& meeting) {
  if (meeting.group == ~0u) return;
  int const all = __builtin_popcount(meeting.group);
  machine->note(Fault::kDivergence,
                std::string(meeting.lanes[__builtin_ctz(meeting.group)].visit.what) +
                    " is a matter of all 32 lanes of a warp, and " + std::to_string(all) +
                    " take part: what comes is undefined");
}

inline MatrixRows& rows_of(WarpMeeting& meeting, int lane) {
  return *static_cast<MatrixRows*>(meeting.lanes[lane].visit.payload);
}

using Matrix = uint16_t[8][8];

// The halves of register j of every lane, out of a matrix or into it.
template <bool kTranspose, class F>
inline void for_each_half(WarpMeeting& meeting, F const& f) {
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!meeting.has(lane)) continue;
    for (int half = 0; half < 2; ++half) {
      int const row = lane / 4, column = lane % 4 * 2 + half;
      f(lane, half, kTranspose ? column : row, kTranspose ? row : column);
    }
  }
}

template <bool kTranspose>
inline void registers_from(WarpMeeting& meeting, int j, Matrix const& matrix) {
  for_each_half<kTranspose>(meeting, [&](int lane, int half, int row, int column) {
    memcpy(reinterpret_cast<char*>(&rows_of(meeting, lane).registers[j]) + 2 * half,
           &matrix[row][column], 2);
  });
}

template <bool kTranspose>
inline void registers_into(WarpMeeting& meeting, int j, Matrix& matrix) {
  memset(matrix, meeting.launch->poison, sizeof(Matrix));
  for_each_half<kTranspose>(meeting, [&](int lane, int half, int row, int column) {
    memcpy(&matrix[row][column],
           reinterpret_cast<char const*>(&rows_of(meeting, lane).registers[j]) + 2 * half, 2);
  });
}

template <int kMatrices, bool kTranspose>
inline void load_matrices(WarpMeeting& meeting) {
  checking::Unwatched unwatched;
  note_absent_lanes(meeting);
  for (int j = 0; j < kMatrices; ++j) {
    Matrix matrix;
    memset(matrix, meeting.launch->poison, sizeof matrix);
    for (int row = 0; row < 8; ++row) {
      if (meeting.has(8 * j + row)) memcpy(matrix[row], rows_of(meeting, 8 * j + row).row, 16);
    }
    registers_from<kTranspose>(meeting, j, matrix);
  }
}

template <int kMatrices, bool kTranspose>
inline void store_matrices(WarpMeeting& meeting) {
  checking::Unwatched unwatched;
  note_absent_lanes(meeting);
  for (int j = 0; j < kMatrices; ++j) {
    Matrix matrix;
    registers_into<kTranspose>(meeting, j, matrix);
    for (int row = 0; row < 8; ++row) {
      if (meeting.has(8 * j + row)) memcpy(rows_of(meeting, 8 * j + row).row, matrix[row], 16);
    }
  }
}

inline void transpose_matrix(WarpMeeting& meeting) {
  note_absent_lanes(meeting);
  Matrix matrix;
  registers_into<false>(meeting, 0, matrix);
  registers_from<true>(meeting, 0, matrix);
}

inline void meet_for_matrices(char const* what, void (*evaluate)(WarpMeeting&), MatrixRows rows) {
  machine->meet_warp({what, evaluate, ~0u, 0, kWarp, 0, 0, &rows}, caller_line());
}

inline bool brings_row(int matrices) { return machine->current() % kWarp < 8 * matrices; }

template <bool kTranspose, class... Registers>
inline void ldmatrix(void const* row, Registers&... registers) {
  constexpr int kMatrices = sizeof...(Registers);
  static constexpr char const* kName = kTranspose ? "ldmatrix.trans" : "ldmatrix";
  uint32_t loaded[kMatrices];
  if (brings_row(kMatrices)) {
    check_shared_access(kName, row, 16);
    checking::reads(row, 16);
  }
  meet_for_matrices(kName, load_matrices<kMatrices, kTranspose>, {const_cast<void*>(row), loaded});
  int j = 0;
  ((registers = loaded[j++]), ...);
}

template <bool kTranspose, class... Registers>
inline void stmatrix(void* row, Registers... registers) {
  constexpr int kMatrices = sizeof...(Registers);
  static constexpr char const* kName = kTranspose ? "stmatrix.trans" : "stmatrix";
  uint32_t stored[kMatrices] = {registers...};
  if (brings_row(kMatrices)) {
    check_shared_access(kName, row, 16);
    checking::writes(row, 16);
  }
  meet_for_matrices(kName, store_matrices<kMatrices, kTranspose>, {row, stored});
}

inline uint32_t movmatrix(uint32_t source) {
  meet_for_matrices("movmatrix", transpose_matrix, {nullptr, &source});
  return source;
}

}  // namespace cutegen_emu
