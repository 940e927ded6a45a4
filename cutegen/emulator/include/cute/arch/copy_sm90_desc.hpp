// CuTe's header, with barriers in shared memory that work.
#pragma once

#include <cute/arch/copy_sm90.hpp>

#define initialize_barrier initialize_barrier_on_host
#define set_barrier_transaction_bytes set_barrier_transaction_bytes_on_host
#define wait_barrier wait_barrier_on_host
#define arrive_barrier arrive_barrier_on_host
#define prefetch_tma_descriptor prefetch_tma_descriptor_on_host
#include_next <cute/arch/copy_sm90_desc.hpp>
#undef initialize_barrier
#undef set_barrier_transaction_bytes
#undef wait_barrier
#undef arrive_barrier
#undef prefetch_tma_descriptor

namespace cute {

inline void initialize_barrier(uint64_t& barrier, int arrivals = 1,
                               cutegen_emu::Caller caller = {}) {
  cutegen_emu::initialize_mbarrier(&barrier, uint32_t(arrivals), caller.line);
}
inline void set_barrier_transaction_bytes(uint64_t& barrier, uint32_t bytes,
                                          cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive(&barrier, bytes, "set_barrier_transaction_bytes", caller.line);
}
inline void wait_barrier(uint64_t& barrier, int parity, cutegen_emu::Caller caller = {}) {
  cutegen_emu::wait_for_phase(&barrier, uint32_t(parity), false, "wait_barrier", caller.line);
}
inline void arrive_barrier(uint64_t& barrier, cutegen_emu::Caller caller = {}) {
  cutegen_emu::arrive(&barrier, 0, "arrive_barrier", caller.line);
}
inline void prefetch_tma_descriptor(TmaDescriptor const*) {}

}  // namespace cute
