// One product of a warpgroup, D = A B + D, as the MMA's traits describe it.
#pragma once

#include <cutegen_emulator/hopper/wgmma.hpp>

#include <cute/atom/mma_traits.hpp>
#include <cute/arch/mma_sm90_gmma.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

using cute::SM90::GMMA::Major;
using cute::SM90::GMMA::ScaleIn;

// What an operation's template arguments say; those without any are K-major and unscaled.
template <class Op>
struct OperandModes {
  static constexpr Major kA = Major::K, kB = Major::K;
  static constexpr int kSign = 1;
};
template <template <ScaleIn, ScaleIn> class Op, ScaleIn A, ScaleIn B>
struct OperandModes<Op<A, B>> {
  static constexpr Major kA = Major::K, kB = Major::K;
  static constexpr int kSign = int(A) * int(B);
};
template <template <Major, Major, ScaleIn, ScaleIn> class Op, Major MajorA, Major MajorB,
          ScaleIn A, ScaleIn B>
struct OperandModes<Op<MajorA, MajorB, A, B>> {
  static constexpr Major kA = MajorA, kB = MajorB;
  static constexpr int kSign = int(A) * int(B);
};

// Integer operations that saturate differ by their names only.
template <class Op>
constexpr bool saturates() {
  char const* name = __PRETTY_FUNCTION__;
  for (; *name; ++name) {
    char const* word = "SATURATE";
    char const* rest = name;
    while (*word && *rest == *word) ++word, ++rest;
    if (!*word) return true;
  }
  return false;
}

template <class Op, class Traits>
struct WarpgroupProduct {
  using A = typename Traits::ValTypeA;
  using B = typename Traits::ValTypeB;
  using D = typename Traits::ValTypeD;
  using Value = std::conditional_t<std::is_integral<D>::value, int32_t, float>;
  static constexpr int M = cute::size<0>(typename Traits::Shape_MNK{});
  static constexpr int N = cute::size<1>(typename Traits::Shape_MNK{});
  static constexpr int K = cute::size<2>(typename Traits::Shape_MNK{});
  static constexpr bool kSharedA = std::is_same<std::remove_extent_t<typename Op::ARegisters>,
                                                uint64_t>::value;
  static constexpr int kOwn = M * N / Warpgroup::kThreads;  // accumulators of a thread
  static constexpr int kRegisters = int(kOwn * sizeof(D) / sizeof(uint32_t));
  static constexpr bool kMajorA = OperandModes<Op>::kA == Major::K;
  static constexpr bool kMajorB = OperandModes<Op>::kB == Major::K;

  static void evaluate(Product* const* of_threads) {
    Product const& first = *of_threads[0];
    char* base = machine->shared().dynamic();
    static thread_local std::vector<Value> storage(M * K + K * N + M * N);
    Value* a = storage.data();      // [k][m]
    Value* b = a + M * K;           // [k][n]
    Value* d = b + K * N;           // [m][n]
    if constexpr (kSharedA) {
      read_operand<A>(first.a, kMajorA, M, K, base, a);
    } else {
      take_registers(of_threads, a);
    }
    read_operand<B>(first.b, kMajorB, N, K, base, b);
    if (first.accumulate) {
      exchange(of_threads, d, [](Value& sum, D& own) { sum = Value(own); });
    } else {
      std::fill(d, d + M * N, Value(0));
    }
    multiply(a, b, d);
    exchange(of_threads, d, [](Value& sum, D& own) { own = D(sum); });
  }

  static void check(Product const& product, int line) {
    char* base = machine->shared().dynamic();
    auto const reads = [&](int, int, char* address) {
      require_shared(address, 16, "wgmma", line);
      checking::reads(address, 16);
    };
    if constexpr (kSharedA) for_each_run<A>(product.a, kMajorA, M, K, base, reads);
    for_each_run<B>(product.b, kMajorB, N, K, base, reads);
  }

 private:
  // The compiler makes vectors of the loops if nothing watches each access; none is the kernel's.
  __attribute__((optimize("O3"), no_sanitize("thread"))) static void multiply(Value const* a, Value const* b, Value* d) {
    constexpr Value sign = OperandModes<Op>::kSign;
    for (int m = 0; m < M; ++m) {
      Value* row = d + m * N;
      if constexpr (std::is_integral<Value>::value && saturates<Op>()) {
        for (int n = 0; n < N; ++n) {
          int64_t sum = row[n];
          for (int k = 0; k < K; ++k) sum += int64_t(a[k * M + m]) * b[k * N + n];
          row[n] = int32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
        }
      } else {
        for (int k = 0; k < K; ++k) {
          Value const left = sign * a[k * M + m];
          for (int n = 0; n < N; ++n) row[n] += left * b[k * N + n];
        }
      }
    }
  }

  // Where value i of thread t lies in a matrix, as index t * count + i.
  template <class Layout, int kCount>
  static int const* places() {
    static int const* const table = [] {
      int* made = new int[Warpgroup::kThreads * kCount];
      for (int t = 0; t < Warpgroup::kThreads; ++t)
        for (int i = 0; i < kCount; ++i) made[t * kCount + i] = int(Layout{}(t, i));
      return made;
    }();
    return table;
  }

  template <class F>
  static void exchange(Product* const* of_threads, Value* d, F const& f) {
    int const* place = places<typename Traits::CLayout, kOwn>();
    for (int t = 0; t < Warpgroup::kThreads; ++t) {
      D* own = reinterpret_cast<D*>(of_threads[t]->accumulators->values.data());
      for (int i = 0; i < kOwn; ++i, ++place) f(d[*place % M * N + *place / M], own[i]);
    }
  }

  static void take_registers(Product* const* of_threads, Value* a) {
    constexpr int kCount = M * K / Warpgroup::kThreads;
    int const* place = places<typename Traits::ALayout, kCount>();
    for (int t = 0; t < Warpgroup::kThreads; ++t) {
      A const* own = reinterpret_cast<A const*>(of_threads[t]->a_registers.data());
      for (int i = 0; i < kCount; ++i, ++place) {
        if constexpr (std::is_integral<Value>::value) {
          a[*place] = Value(own[i]);
        } else {
          a[*place] = operand_value(own[i]);
        }
      }
    }
  }
};

}  // namespace cutegen_emu
