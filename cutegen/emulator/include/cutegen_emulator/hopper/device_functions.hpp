// CUDA's own device functions of sm_90, which need no header of CUTLASS.
#pragma once

#include <cutegen_emulator/hopper/copies.hpp>

inline unsigned __clusterRelativeBlockRank() { return unsigned(cutegen_emu::machine->block_rank()); }
inline unsigned __clusterSizeInBlocks() { return unsigned(cutegen_emu::machine->block_count()); }
inline dim3 __clusterDim() { return cutegen_emu::cluster_shape(); }
inline dim3 __clusterRelativeBlockIdx() { return cutegen_emu::block_id_in_cluster(); }
inline dim3 __clusterIdx() { return cutegen_emu::cluster_id_in_grid(); }
inline dim3 __clusterGridDimInClusters() { return cutegen_emu::cluster_grid_dims(); }
inline void __cluster_barrier_arrive(int line = __builtin_LINE()) {
  cutegen_emu::arrive_at_cluster_barrier(true, line);
}
inline void __cluster_barrier_arrive_relaxed(int line = __builtin_LINE()) {
  cutegen_emu::arrive_at_cluster_barrier(false, line);
}
inline void __cluster_barrier_wait(int line = __builtin_LINE()) {
  cutegen_emu::wait_at_cluster_barrier(line);
}
inline void* __cluster_map_shared_rank(void const* address, unsigned rank,
                                       int line = __builtin_LINE()) {
  return cutegen_emu::in_block(address, int(rank), "__cluster_map_shared_rank", line);
}
inline unsigned __cluster_query_shared_rank(void const* address, int line = __builtin_LINE()) {
  return unsigned(
      cutegen_emu::require_shared(address, 1, "__cluster_query_shared_rank", line));
}
inline size_t __cvta_generic_to_shared(void const* address) {
  return cutegen_emu::to_shared_address(address);
}
inline void* __cvta_shared_to_generic(size_t address, int line = __builtin_LINE()) {
  return cutegen_emu::from_shared_address(uint32_t(address), "__cvta_shared_to_generic", line);
}

namespace cutegen_emu __attribute__((visibility("hidden"))) {

[[noreturn]] inline void stop_at_breakpoint() {
  machine->fail(cudaErrorLaunchFailure,
                "a pipeline of CUTLASS found its parameters or its use wrong (a breakpoint)",
                caller_line());
}

}  // namespace cutegen_emu
