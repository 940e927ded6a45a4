// CuTe's header, with an address of shared memory that means something.
#pragma once

#define cast_smem_ptr_to_uint cast_smem_ptr_to_uint_on_host
#include_next <cute/arch/util.hpp>
#undef cast_smem_ptr_to_uint

#include <cuda_runtime.h>

namespace cute {

inline uint32_t cast_smem_ptr_to_uint(void const* address) {
  return cutegen_emu::to_shared_address(address);
}

}  // namespace cute
