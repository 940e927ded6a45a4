// CuTe's header, with questions for the thread that are answered for a device's.
#pragma once

#include <cuda_runtime.h>

#define block block_on_host
#define thread thread_on_host
#define block0 block0_on_host
#define thread0 thread0_on_host
#include_next <cute/util/debug.hpp>
#undef block
#undef thread
#undef block0
#undef thread0

namespace cute {

inline bool block(int number) {
  return blockIdx.x + blockIdx.y * gridDim.x + blockIdx.z * gridDim.x * gridDim.y ==
         unsigned(number);
}
inline bool thread(int number, int of_block) {
  return threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y ==
             unsigned(number) &&
         block(of_block);
}
inline bool thread(int number) { return thread(number, 0); }
inline bool thread0() { return thread(0, 0); }
inline bool block0() { return block(0); }

}  // namespace cute
