// Tensor maps of the driver API: types, and the making of a map with the checks of the driver.
#pragma once

#include <cutegen_emulator/errors.hpp>
#include <cutegen_emulator/hopper/tensor_map.hpp>
#include <cutegen_emulator/report.hpp>

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999,
} CUresult;

typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st* CUstream;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

typedef enum CUtensorMapDataType_enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
} CUtensorMapDataType;

typedef enum CUtensorMapInterleave_enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B,
} CUtensorMapInterleave;

typedef enum CUtensorMapSwizzle_enum {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
} CUtensorMapSwizzle;

typedef enum CUtensorMapL2promotion_enum {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
} CUtensorMapL2promotion;

typedef enum CUtensorMapFloatOOBfill_enum {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
} CUtensorMapFloatOOBfill;

typedef struct alignas(64) CUtensorMap_st {
  cuuint64_t opaque[16];
} CUtensorMap;

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline size_t element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 4;
  }
}

inline CUresult refuse_tensor_map(std::string const& why) {
  report("fault", Fault::kLaunchError, "cuTensorMapEncodeTiled",
         "the tensor map was refused: " + why);
  record_sticky(cudaErrorInvalidValue);
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace cutegen_emu

// Sizes and boxes are in elements, strides in bytes, from the second dimension on. The limits are
// those of the CUDA driver API's reference.
inline CUresult cuTensorMapEncodeTiled(
    CUtensorMap* result, CUtensorMapDataType type, cuuint32_t rank, void* address,
    cuuint64_t const* size, cuuint64_t const* strides, cuuint32_t const* box,
    cuuint32_t const* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using cutegen_emu::TensorMap;
  using cutegen_emu::refuse_tensor_map;
  size_t const element = cutegen_emu::element_bytes(type);
  if (rank < 1 || rank > TensorMap::kMostDimensions) {
    return refuse_tensor_map("it has " + std::to_string(rank) + " dimensions, not 1 to 5");
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    return refuse_tensor_map("the emulator has no interleaved layouts");
  }
  if (reinterpret_cast<uintptr_t>(address) % 16) {
    return refuse_tensor_map("the tensor's address is not a multiple of 16 bytes");
  }
  if (reinterpret_cast<uintptr_t>(result) % 64) {
    return refuse_tensor_map("the map's own address is not a multiple of 64 bytes");
  }
  TensorMap map;
  map.magic = TensorMap::kMagic;
  map.rank = uint8_t(rank);
  map.type = uint8_t(type);
  map.swizzle = uint8_t(swizzle);
  map.nan_fill = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  map.address = reinterpret_cast<uint64_t>(address);
  for (cuuint32_t d = 0; d < rank; ++d) {
    std::string const which = " of dimension " + std::to_string(d);
    if (size[d] < 1 || size[d] > uint64_t(1) << 32) {
      return refuse_tensor_map("the size" + which + " is not 1 to 2^32");
    }
    if (box[d] < 1 || box[d] > 256) {
      return refuse_tensor_map("the box" + which + " is " + std::to_string(box[d]) +
                               ", not 1 to 256");
    }
    if (steps[d] < 1 || steps[d] > 8) {
      return refuse_tensor_map("the element stride" + which + " is not 1 to 8");
    }
    if (d && (strides[d - 1] % 16 || strides[d - 1] >= uint64_t(1) << 40)) {
      return refuse_tensor_map("the stride" + which + " is " + std::to_string(strides[d - 1]) +
                               " bytes, not a multiple of 16 below 2^40");
    }
    map.last[d] = uint32_t(size[d] - 1);
    map.box[d] = uint16_t(box[d]);
    map.step[d] = uint8_t(steps[d]);
    map.stride[d] = d ? strides[d - 1] : element;
  }
  size_t const row = map.row_bytes();
  if (row % 16) {
    return refuse_tensor_map("the innermost row of the box has " + std::to_string(row) +
                             " bytes, not a multiple of 16");
  }
  if (swizzle && row > size_t(16) << swizzle) {
    return refuse_tensor_map("the innermost row of the box has " + std::to_string(row) +
                             " bytes, more than the swizzle's " +
                             std::to_string(size_t(16) << swizzle));
  }
  memset(result, 0, sizeof(*result));
  memcpy(result, &map, sizeof(map));
  return CUDA_SUCCESS;
}

inline CUresult cuGetErrorString(CUresult result, char const** text) {
  *text = cudaGetErrorString(cudaError_t(result));
  return CUDA_SUCCESS;
}

inline CUresult cuGetErrorName(CUresult result, char const** text) {
  *text = cudaGetErrorName(cudaError_t(result));
  return CUDA_SUCCESS;
}

enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};

constexpr unsigned long long cudaEnableDefault = 0;

// Tensor maps are the one driver function that launch code has a use for.
inline cudaError_t cudaGetDriverEntryPointByVersion(
    char const* name, void** function, unsigned, unsigned long long,
    cudaDriverEntryPointQueryResult* found = nullptr) {
  bool const known = !strcmp(name, "cuTensorMapEncodeTiled");
  *function = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return known ? cudaSuccess : cutegen_emu::record(cudaErrorNotSupported);
}

inline cudaError_t cudaGetDriverEntryPoint(char const* name, void** function,
                                           unsigned long long flags,
                                           cudaDriverEntryPointQueryResult* found = nullptr) {
  return cudaGetDriverEntryPointByVersion(name, function, 12000, flags, found);
}
