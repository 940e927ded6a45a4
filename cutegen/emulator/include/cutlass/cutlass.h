// CUTLASS's header, with questions for the thread that are answered for a device's.
#pragma once

#include <cuda_runtime.h>

#define thread0 thread0_on_host
#define canonical_lane_idx canonical_lane_idx_on_host
#define canonical_warp_idx_sync canonical_warp_idx_sync_on_host
#define canonical_warp_idx canonical_warp_idx_on_host
#define canonical_warp_group_idx canonical_warp_group_idx_on_host
#include_next <cutlass/cutlass.h>
#undef thread0
#undef canonical_lane_idx
#undef canonical_warp_idx_sync
#undef canonical_warp_idx
#undef canonical_warp_group_idx

namespace cutlass {

inline bool thread0() {
  return !threadIdx.x && !threadIdx.y && !threadIdx.z && !blockIdx.x && !blockIdx.y && !blockIdx.z;
}
inline int canonical_lane_idx() { return int(threadIdx.x % NumThreadsPerWarp); }
inline int canonical_warp_idx() { return int(threadIdx.x / NumThreadsPerWarp); }
inline int canonical_warp_idx_sync() { return canonical_warp_idx(); }
inline int canonical_warp_group_idx() { return int(threadIdx.x / NumThreadsPerWarpGroup); }

}  // namespace cutlass
