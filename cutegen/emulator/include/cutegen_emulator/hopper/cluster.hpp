// A thread's place in its cluster, and the barrier of a whole cluster (PTX: barrier.cluster).
#pragma once

#include <cutegen_emulator/hopper/asynchronous.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline dim3 cluster_shape() { return machine->launch().cluster; }

inline dim3 block_id_in_cluster() {
  unsigned const rank = unsigned(machine->block_rank());
  dim3 const shape = cluster_shape();
  return {rank % shape.x, rank / shape.x % shape.y, rank / (shape.x * shape.y)};
}

inline dim3 cluster_grid_dims() {
  dim3 const shape = cluster_shape();
  return {gridDim.x / shape.x, gridDim.y / shape.y, gridDim.z / shape.z};
}

inline dim3 cluster_id_in_grid() {
  dim3 const shape = cluster_shape();
  return {blockIdx.x / shape.x, blockIdx.y / shape.y, blockIdx.z / shape.z};
}

// Whether every thread has arrived. Those that have ended are not missed.
inline bool try_cluster_barrier(Asynchronous& state, Machine& m) {
  for (int fiber = 0; fiber < int(state.cluster_arrivals.size()); ++fiber) {
    if (m.alive(fiber) && state.cluster_arrivals[fiber] == state.cluster.completed) return false;
  }
  ++state.cluster.completed;
  std::vector<int> waiters;
  waiters.swap(state.cluster.waiters);
  for (int fiber : waiters) state.wake(fiber);
  return true;
}

inline void arrive_at_cluster_barrier(bool releases, int line) {
  Asynchronous& state = Asynchronous::now();
  int const fiber = machine->current();
  if (state.cluster_arrivals[fiber] != state.cluster_waits[fiber]) {
    machine->fail(Fault::kDivergence, cudaErrorLaunchFailure,
                  "cluster_arrive() twice without a cluster_wait() in between", line);
  }
  if (releases) checking::release(&state.cluster);
  ++state.cluster_arrivals[fiber];
  try_cluster_barrier(state, *machine);
}

inline std::string describe_cluster_barrier(void const*) {
  Asynchronous& state = Asynchronous::now();
  int missing = 0;
  for (int fiber = 0; fiber < int(state.cluster_arrivals.size()); ++fiber) {
    missing += machine->alive(fiber) && state.cluster_arrivals[fiber] == state.cluster.completed;
  }
  return std::to_string(missing) + " threads of the cluster have not arrived";
}

inline void wait_at_cluster_barrier(int line) {
  Asynchronous& state = Asynchronous::now();
  int const fiber = machine->current();
  if (state.cluster_arrivals[fiber] == state.cluster_waits[fiber]) {
    machine->fail(Fault::kDivergence, cudaErrorLaunchFailure,
                  "cluster_wait() without a cluster_arrive() before it", line);
  }
  ++state.cluster_waits[fiber];
  if (state.cluster.completed < state.cluster_waits[fiber]) {
    state.cluster.waiters.push_back(fiber);
    machine->park({"cluster_wait", line, &state.cluster, describe_cluster_barrier});
  }
  checking::acquire(&state.cluster);
}

inline void elect(WarpMeeting& meeting) {
  int const leader = __builtin_ctz(meeting.group);
  for_each_lane(meeting, [&](int lane) {
    meeting.lanes[lane].visit.result = uint64_t(leader) << 1 | (lane == leader);
  });
}

}  // namespace cutegen_emu
