// CuTe's header, with warpgroup synchronisation that works.
#pragma once

#include <cuda_runtime.h>
#include <cutegen_emulator/hopper/wgmma.hpp>

#include <cute/config.hpp>
#include <cutlass/arch/synclog.hpp>

#define warpgroup_arrive warpgroup_arrive_on_host
#define warpgroup_wait warpgroup_wait_on_host
#define warpgroup_commit_batch warpgroup_commit_batch_on_host
#include_next <cute/arch/mma_sm90_gmma.hpp>
#undef warpgroup_arrive
#undef warpgroup_wait
#undef warpgroup_commit_batch

namespace cute {

inline void warpgroup_arrive(cutegen_emu::Caller caller = {}) {
  cutegen_emu::fence_warpgroup(caller.line);
}
inline void warpgroup_commit_batch(cutegen_emu::Caller caller = {}) {
  cutegen_emu::commit_products(caller.line);
}
template <int N>
inline void warpgroup_wait(cutegen_emu::Caller caller = {}) {
  static_assert(N >= 0 && N <= 7, "WGMMA wait: N must be in range [0, 7]");
  cutegen_emu::wait_for_products(N, caller.line);
}

}  // namespace cute
