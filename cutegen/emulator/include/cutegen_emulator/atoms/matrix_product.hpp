// The matrix instruction of a warp, of any type and shape, out of CuTe's traits: Shape_MNK, ThrID,
// ALayout, BLayout and CLayout say which lane's register holds which element.
#pragma once

#include <cute/atom/mma_traits.hpp>
#include <cutegen_emulator/atoms/elements.hpp>
#include <cutegen_emulator/atoms/matrix_moves.hpp>
#include <cutegen_emulator/atoms/unsupported.hpp>
#include <string_view>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The registers of one lane. All pointers are to packed elements.
struct ProductRegisters {
  void* d;
  void const* a;
  void const* b;
  void const* c;
};

template <class T>
constexpr std::string_view type_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  return name.substr(0, name.find_first_of(";]"));
}

// The position in a matrix of every value of every thread.
template <class Layout>
struct Places {
  static constexpr int kThreads = decltype(cute::size<0>(Layout{}))::value;
  static constexpr int kValues = decltype(cute::size<1>(Layout{}))::value;
  uint16_t at[kThreads][kValues];
  bool once = true;  // each position of a matrix of that size is taken by one value

  Places() {
    std::vector<bool> taken(kThreads * kValues);
    for (int t = 0; t < kThreads; ++t)
      for (int v = 0; v < kValues; ++v) {
        unsigned const place = unsigned(Layout{}(t, v));
        if (place >= taken.size() || taken[place]) {
          once = false;
          continue;
        }
        taken[place] = true;
        at[t][v] = uint16_t(place);
      }
  }
};

template <class Op>
struct MatrixProduct {
  using Traits = cute::MMA_Traits<Op>;
  using A = typename Traits::ValTypeA;
  using B = typename Traits::ValTypeB;
  using C = typename Traits::ValTypeC;
  using D = typename Traits::ValTypeD;
  using ThrID = typename Traits::ThrID;
  static constexpr int kM = decltype(cute::size<0>(typename Traits::Shape_MNK{}))::value;
  static constexpr int kN = decltype(cute::size<1>(typename Traits::Shape_MNK{}))::value;
  static constexpr int kK = decltype(cute::size<2>(typename Traits::Shape_MNK{}))::value;
  static constexpr int kThreads = decltype(cute::size(ThrID{}))::value;
  static constexpr bool kSupported = kIsFactor<A> && kIsFactor<B> && kIsSum<C> && kIsSum<D>;
  static constexpr std::string_view kName = type_name<Op>();
  static constexpr bool kSaturates = kName.find("_SATURATE") != kName.npos;
  static constexpr bool kCountsDifferences = kName.find("_XORPOPC") != kName.npos;

  static char const* name() {
    static std::string const text(kName.substr(kName.rfind(':') + 1));
    return text.c_str();
  }

  static Places<typename Traits::ALayout> const& places_a() {
    static Places<typename Traits::ALayout> const places;
    return places;
  }
  static Places<typename Traits::BLayout> const& places_b() {
    static Places<typename Traits::BLayout> const places;
    return places;
  }
  static Places<typename Traits::CLayout> const& places_c() {
    static Places<typename Traits::CLayout> const places;
    return places;
  }

  // D = A B + C by the lanes of one group; quad-pairs of sm_70 are four groups of a warp.
  static void evaluate(ProductRegisters const (&lanes)[kThreads]) {
    using Product = typename Factor<A>::Type;
    using Total = typename Sum<D>::Type;
    Product a[kK * kM], b[kK * kN];
    Total sums[kM * kN];  // by rows
    auto const &in_a = places_a().at, &in_b = places_b().at, &in_c = places_c().at;
    for (int t = 0; t < kThreads; ++t) {
      for (int v = 0; v < kM * kK / kThreads; ++v) a[in_a[t][v]] = Factor<A>::load(lanes[t].a, v);
      for (int v = 0; v < kN * kK / kThreads; ++v) b[in_b[t][v]] = Factor<B>::load(lanes[t].b, v);
      for (int v = 0; v < kM * kN / kThreads; ++v) {
        int const place = in_c[t][v];
        sums[place % kM * kN + place / kM] = Sum<C>::load(lanes[t].c, v);
      }
    }
    multiply(sums, a, b);
    for (int t = 0; t < kThreads; ++t) {
      for (int v = 0; v < kM * kN / kThreads; ++v) {
        int const place = in_c[t][v];
        Sum<D>::store(lanes[t].d, v, sums[place % kM * kN + place / kM], kSaturates);
      }
    }
  }

  static void evaluate_warp(WarpMeeting& meeting) {
    checking::Unwatched unwatched;
    note_absent_lanes(meeting);
    alignas(16) unsigned char undefined[256], dropped[256];
    if (meeting.group != ~0u) memset(undefined, meeting.launch->poison, sizeof undefined);
    auto const bases = cute::complement(ThrID{}, cute::Int<kWarp>{});
    for (int group = 0; group < kWarp / kThreads; ++group) {
      ProductRegisters lanes[kThreads];
      for (int t = 0; t < kThreads; ++t) {
        int const lane = int(ThrID{}(t)) + int(bases(group));
        lanes[t] = meeting.has(lane)
                       ? *static_cast<ProductRegisters*>(meeting.lanes[lane].visit.payload)
                       : ProductRegisters{dropped, undefined, undefined, undefined};
      }
      evaluate(lanes);
    }
  }

  // Called by every lane.
  static void run(ProductRegisters registers) {
    if constexpr (!kSupported) {
      refuse("the emulator has no arithmetic for the elements of ");
    } else if (!places_a().once || !places_b().once || !places_c().once) {
      refuse("this version of CuTe gives no layout to the registers of ");
    } else if constexpr (kThreads == 1) {
      evaluate({registers});
    } else {
      machine->meet_warp({name(), evaluate_warp, ~0u, 0, kWarp, 0, 0, &registers}, caller_line());
    }
  }

 private:
  [[noreturn]] static void refuse(char const* why) {
    machine->fail(Fault::kEnvironment, cudaErrorNotSupported, std::string(why) + name() + kAdvice,
                  caller_line());
  }

  // A and B by columns: element (m, k) of A is a[k * kM + m].
  template <class Total, class Product>
  static void multiply(Total* __restrict sums, Product const* a, Product const* b) {
    for (int k = 0; k < kK; ++k)
      for (int m = 0; m < kM; ++m) {
        Product const x = a[k * kM + m];
        Total* const row = sums + m * kN;
        Product const* const y = b + k * kN;
        if constexpr (kCountsDifferences) {
          for (int n = 0; n < kN; ++n) row[n] += x ^ y[n];
        } else if constexpr (std::is_same<Product, float>::value && kN % 4 == 0) {
          for (int n = 0; n < kN; n += 4) {
            Four sum, factors;
            memcpy(&sum, row + n, sizeof sum);
            memcpy(&factors, y + n, sizeof factors);
            sum += factors * x;
            memcpy(row + n, &sum, sizeof sum);
          }
        } else {
          for (int n = 0; n < kN; ++n) row[n] = row[n] + x * y[n];
        }
      }
  }

  typedef float Four __attribute__((vector_size(16)));
};

}  // namespace cutegen_emu
