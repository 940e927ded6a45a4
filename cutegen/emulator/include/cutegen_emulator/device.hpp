// The device that a candidate sees: an H200, as far as launch code asks.
#pragma once

#include <cutegen_emulator/machine.hpp>

// The attributes that launch code asks for, with the values of an H200.
#define CUTEGEN_EMU_ATTRIBUTES(ATTRIBUTE)                                          \
  ATTRIBUTE(cudaDevAttrMaxThreadsPerBlock, 1, 1024)                                \
  ATTRIBUTE(cudaDevAttrMaxBlockDimX, 2, 1024)                                      \
  ATTRIBUTE(cudaDevAttrMaxBlockDimY, 3, 1024)                                      \
  ATTRIBUTE(cudaDevAttrMaxBlockDimZ, 4, 64)                                        \
  ATTRIBUTE(cudaDevAttrMaxGridDimX, 5, 2147483647)                                 \
  ATTRIBUTE(cudaDevAttrMaxGridDimY, 6, 65535)                                      \
  ATTRIBUTE(cudaDevAttrMaxGridDimZ, 7, 65535)                                      \
  ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerBlock, 8, 49152)                          \
  ATTRIBUTE(cudaDevAttrTotalConstantMemory, 9, 65536)                              \
  ATTRIBUTE(cudaDevAttrWarpSize, 10, 32)                                           \
  ATTRIBUTE(cudaDevAttrMaxRegistersPerBlock, 12, 65536)                            \
  ATTRIBUTE(cudaDevAttrClockRate, 13, 1980000)                                     \
  ATTRIBUTE(cudaDevAttrMultiProcessorCount, 16, cutegen_emu::kMultiprocessors)     \
  ATTRIBUTE(cudaDevAttrConcurrentKernels, 31, 1)                                   \
  ATTRIBUTE(cudaDevAttrMemoryClockRate, 36, 3201000)                               \
  ATTRIBUTE(cudaDevAttrGlobalMemoryBusWidth, 37, 6144)                             \
  ATTRIBUTE(cudaDevAttrL2CacheSize, 38, 62914560)                                  \
  ATTRIBUTE(cudaDevAttrMaxThreadsPerMultiProcessor, 39, 2048)                      \
  ATTRIBUTE(cudaDevAttrComputeCapabilityMajor, 75, 9)                              \
  ATTRIBUTE(cudaDevAttrComputeCapabilityMinor, 76, 0)                              \
  ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, 233472)               \
  ATTRIBUTE(cudaDevAttrMaxRegistersPerMultiprocessor, 82, 65536)                   \
  ATTRIBUTE(cudaDevAttrCooperativeLaunch, 95, 0)                                   \
  ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, 232448)                   \
  ATTRIBUTE(cudaDevAttrMaxBlocksPerMultiprocessor, 106, 32)                        \
  ATTRIBUTE(cudaDevAttrReservedSharedMemoryPerBlock, 111, 1024)

enum cudaDeviceAttr {
#define CUTEGEN_EMU_ATTRIBUTE(name, number, value) name = number,
  CUTEGEN_EMU_ATTRIBUTES(CUTEGEN_EMU_ATTRIBUTE)
#undef CUTEGEN_EMU_ATTRIBUTE
};

inline cudaError_t cudaDeviceGetAttribute(int* result, cudaDeviceAttr attribute, int device) {
  if (device != 0) return cutegen_emu::record(cudaErrorInvalidDevice);
  switch (attribute) {
#define CUTEGEN_EMU_ATTRIBUTE(name, number, value) \
  case name:                                       \
    *result = value;                               \
    return cudaSuccess;
    CUTEGEN_EMU_ATTRIBUTES(CUTEGEN_EMU_ATTRIBUTE)
#undef CUTEGEN_EMU_ATTRIBUTE
  }
  return cutegen_emu::record(cudaErrorInvalidValue);
}

#undef CUTEGEN_EMU_ATTRIBUTES

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  size_t sharedMemPerBlockOptin;
  size_t sharedMemPerMultiprocessor;
  size_t reservedSharedMemPerBlock;
  size_t totalConstMem;
  int regsPerBlock;
  int regsPerMultiprocessor;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int maxThreadsPerMultiProcessor;
  int maxBlocksPerMultiProcessor;
  int multiProcessorCount;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int memoryBusWidth;
  int major;
  int minor;
};

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return cutegen_emu::record(cudaErrorInvalidDevice);
  *properties = cudaDeviceProp{};
  strcpy(properties->name, "CuTeGen emulator (sm_90)");
  properties->totalGlobalMem = size_t(141) << 30;
  properties->sharedMemPerBlock = cutegen_emu::kSmemDefault;
  properties->sharedMemPerBlockOptin = cutegen_emu::kSmemOptIn;
  properties->sharedMemPerMultiprocessor = cutegen_emu::kSmemPerSm;
  properties->reservedSharedMemPerBlock = 1024;
  properties->totalConstMem = 65536;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->multiProcessorCount = cutegen_emu::kMultiprocessors;
  properties->l2CacheSize = 62914560;
  properties->memoryBusWidth = 6144;
  properties->major = 9;
  return cudaSuccess;
}

inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cutegen_emu::record(cudaErrorInvalidDevice);
}
