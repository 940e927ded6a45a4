// In place of CuTe's header: clusters, the election of a lane, shared memory of other blocks.
#pragma once

#include <cuda_runtime.h>

#include <cute/config.hpp>
#include <cute/numeric/numeric_types.hpp>

namespace cute {

inline void cluster_arrive_relaxed(cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive_at_cluster_barrier(false, caller.line);
}
inline void cluster_arrive(cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive_at_cluster_barrier(true, caller.line);
}
inline void cluster_wait(cutegen_emu::Caller caller = {}) {
  cutegen_emu::wait_at_cluster_barrier(caller.line);
}
inline void cluster_sync(cutegen_emu::Caller caller = {}) {
  cluster_arrive(caller);
  cluster_wait(caller);
}

inline dim3 cluster_grid_dims() { return cutegen_emu::cluster_grid_dims(); }
inline dim3 cluster_id_in_grid() { return cutegen_emu::cluster_id_in_grid(); }
inline dim3 block_id_in_cluster() { return cutegen_emu::block_id_in_cluster(); }
inline dim3 cluster_shape() { return cutegen_emu::cluster_shape(); }
inline uint32_t block_rank_in_cluster() { return uint32_t(cutegen_emu::machine->block_rank()); }

inline uint32_t set_block_rank(uint32_t address, uint32_t rank, cutegen_emu::Caller caller = {}) {
  void* own = cutegen_emu::from_shared_address(address, "set_block_rank", caller.line);
  return cutegen_emu::to_shared_address(
      cutegen_emu::in_block(own, int(rank), "set_block_rank", caller.line));
}

struct ElectOneLaneIdReturnType {
  uint32_t is_leader;
  uint32_t leader_lane_id;
};

inline ElectOneLaneIdReturnType elect_one_leader_sync(cutegen_emu::Caller caller = {}) {
  uint64_t const result =
      cutegen_emu::meet("elect_one_sync", cutegen_emu::elect, ~0u, 0, caller.line);
  return {uint32_t(result & 1), uint32_t(result >> 1)};
}

inline uint32_t elect_one_sync(cutegen_emu::Caller caller = {}) {
  return elect_one_leader_sync(caller).is_leader;
}

inline void store_shared_remote(uint32_t value, uint32_t address, uint32_t barrier, uint32_t rank,
                                cutegen_emu::Caller caller = {}) {
  cutegen_emu::store_remote(value, address, barrier, int(rank), caller.line);
}

}  // namespace cute
