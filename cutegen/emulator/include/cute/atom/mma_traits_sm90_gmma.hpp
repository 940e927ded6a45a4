// CuTe's header, with products of warpgroups that are computed.
#pragma once

#include <cute/arch/mma_sm90_gmma.hpp>
#include <cute/atom/mma_traits.hpp>
#include <cute/tensor_impl.hpp>

#define mma_unpack mma_unpack_on_host
#include_next <cute/atom/mma_traits_sm90_gmma.hpp>
#undef mma_unpack

#include <cutegen_emulator/hopper/product.hpp>

namespace cute {
namespace SM90::GMMA {

template <class Op, class... Args, class TD, class DLayout, class TA, class ALayout, class TB,
          class BLayout, class TC, class CLayout>
inline void mma_unpack(MMA_Traits<Op, Args...> const& traits, Tensor<TD, DLayout>& D,
                       Tensor<TA, ALayout> const& A, Tensor<TB, BLayout> const& B,
                       Tensor<TC, CLayout> const&) {
  using Work = cutegen_emu::WarpgroupProduct<Op, MMA_Traits<Op, Args...>>;
  Tensor a = recast<std::remove_extent_t<typename Op::ARegisters>>(A);
  Tensor b = recast<std::remove_extent_t<typename Op::BRegisters>>(B);
  Tensor d = recast<uint32_t>(D);
  static_assert(size(d) == Int<Work::kRegisters>{} && cosize(d.layout()) == size(d),
                "the accumulators of one wgmma lie next to each other");
  cutegen_emu::Product product;
  product.evaluate = Work::evaluate;
  product.check = Work::check;
  product.accumulate = traits.accumulate_ == ScaleOut::One;
  product.line = cutegen_emu::caller_line();
  product.b = uint64_t(b(0));
  if constexpr (Work::kSharedA) {
    product.a = uint64_t(a(0));
  } else {
    for (int i = 0; i < size(a); ++i) memcpy(&product.a_registers[i], &a(i), 4);
  }
  if (threadIdx.x % cutegen_emu::Warpgroup::kThreads == 0) Work::check(product, product.line);
  cutegen_emu::issue_product(product, &d(0), Work::kRegisters);
}

}  // namespace SM90::GMMA
}  // namespace cute
