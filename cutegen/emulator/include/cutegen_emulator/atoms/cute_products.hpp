// Where CuTe and candidates call the matrix instructions of a warp: MMA_Atom::call, and Op::fma.
#pragma once

#include <cutegen_emulator/atoms/matrix_product.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The instructions of a warp, of a quad-pair, and the dot products of one thread. Those of a
// warpgroup are another matter.
template <class Op, class = void>
inline constexpr bool kIsWarpProduct = false;
template <class Op>
inline constexpr bool kIsWarpProduct<Op, std::void_t<typename cute::MMA_Traits<Op>::ThrID>> =
    type_name<Op>().find("cute::SM61_") == 0 ||
    decltype(cute::size(typename cute::MMA_Traits<Op>::ThrID{}))::value == 8 ||
    decltype(cute::size(typename cute::MMA_Traits<Op>::ThrID{}))::value == 32;

template <size_t kFirst, class Tuple, class Array, size_t... I>
inline void unpack(Tuple const& all, Array& array, std::index_sequence<I...>) {
  ((array[I] = std::get<kFirst + I>(all)), ...);
}

template <class Tuple, class Array, size_t... I>
inline void pack(Tuple const& all, Array const& array, std::index_sequence<I...>) {
  ((std::get<I>(all) = array[I]), ...);
}

// `Op::fma(d..., a..., b..., c...)`, as the rewriter writes it.
template <class Op, class... Registers>
inline void fma(Registers&&... registers) {
  if constexpr (kIsWarpProduct<Op>) {
    constexpr size_t kD = std::extent_v<typename Op::DRegisters>;
    constexpr size_t kA = std::extent_v<typename Op::ARegisters>;
    constexpr size_t kB = std::extent_v<typename Op::BRegisters>;
    constexpr size_t kC = std::extent_v<typename Op::CRegisters>;
    static_assert(sizeof...(Registers) == kD + kA + kB + kC, "fma takes d, a, b and c");
    typename Op::DRegisters d;
    typename Op::ARegisters a;
    typename Op::BRegisters b;
    typename Op::CRegisters c;
    auto const all = std::forward_as_tuple(registers...);
    unpack<kD>(all, a, std::make_index_sequence<kA>{});
    unpack<kD + kA>(all, b, std::make_index_sequence<kB>{});
    unpack<kD + kA + kB>(all, c, std::make_index_sequence<kC>{});
    MatrixProduct<Op>::run({d, a, b, c});
    pack(all, d, std::make_index_sequence<kD>{});
  } else {
    Op::fma(std::forward<Registers>(registers)...);
  }
}

}  // namespace cutegen_emu

namespace cute {

// More specialised than CuTe's own, and found by the namespace of its arguments.
template <class Op, class... Args, class TD, class DLayout, class TA, class ALayout, class TB,
          class BLayout, class TC, class CLayout,
          std::enable_if_t<::cutegen_emu::kIsWarpProduct<Op>, int> = 0>
inline void mma_unpack(MMA_Traits<Op, Args...> const&, Tensor<TD, DLayout>& D,
                       Tensor<TA, ALayout> const& A, Tensor<TB, BLayout> const& B,
                       Tensor<TC, CLayout> const& C) {
  static_assert(is_rmem<TD>::value && is_rmem<TA>::value && is_rmem<TB>::value &&
                    is_rmem<TC>::value,
                "MMA_Atom::call takes registers");
  typename Op::DRegisters d;
  typename Op::ARegisters a;
  typename Op::BRegisters b;
  typename Op::CRegisters c;
  Tensor rA = recast<std::remove_extent_t<typename Op::ARegisters>>(A);
  Tensor rB = recast<std::remove_extent_t<typename Op::BRegisters>>(B);
  Tensor rC = recast<std::remove_extent_t<typename Op::CRegisters>>(C);
  Tensor rD = recast<std::remove_extent_t<typename Op::DRegisters>>(D);
  CUTE_STATIC_ASSERT_V(size(rA) == Int<std::extent_v<typename Op::ARegisters>>{});
  CUTE_STATIC_ASSERT_V(size(rB) == Int<std::extent_v<typename Op::BRegisters>>{});
  CUTE_STATIC_ASSERT_V(size(rC) == Int<std::extent_v<typename Op::CRegisters>>{});
  CUTE_STATIC_ASSERT_V(size(rD) == Int<std::extent_v<typename Op::DRegisters>>{});
  for (int i = 0; i < size(rA); ++i) a[i] = rA(i);
  for (int i = 0; i < size(rB); ++i) b[i] = rB(i);
  for (int i = 0; i < size(rC); ++i) c[i] = rC(i);
  ::cutegen_emu::MatrixProduct<Op>::run({d, a, b, c});
  for (int i = 0; i < size(rD); ++i) rD(i) = d[i];
}

}  // namespace cute
