// The storage of CUDA's 8-bit floating types; cutlass::float_e4m3_t and float_e5m2_t compute.
#pragma once

#include <cuda_runtime.h>

typedef unsigned char __nv_fp8_storage_t;

struct __nv_fp8_e4m3 {
  __nv_fp8_storage_t __x;
};
struct __nv_fp8_e5m2 {
  __nv_fp8_storage_t __x;
};
