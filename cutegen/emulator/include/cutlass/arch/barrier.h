// CUTLASS's header, with barriers that work.
#pragma once

#include <cuda_runtime.h>

#include <cutlass/arch/memory_sm75.h>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm100_tma.hpp>
#include <cutlass/arch/config.h>

#define NamedBarrier NamedBarrierOnHost
#define ClusterBarrier ClusterBarrierOnHost
#define ClusterTransactionBarrier ClusterTransactionBarrierOnHost
#define fence_barrier_init fence_barrier_init_on_host
#define fence_view_async_shared fence_view_async_shared_on_host
#define cpasync_barrier_arrive cpasync_barrier_arrive_on_host
#define cpasync_barrier_arrive_noinc cpasync_barrier_arrive_noinc_on_host
#include_next <cutlass/arch/barrier.h>
#undef NamedBarrier
#undef ClusterBarrier
#undef ClusterTransactionBarrier
#undef fence_barrier_init
#undef fence_view_async_shared
#undef cpasync_barrier_arrive
#undef cpasync_barrier_arrive_noinc

#include <cutegen_emulator/hopper/cutlass_barriers.hpp>
#include <cutegen_emulator/atoms/async_arrival.hpp>
