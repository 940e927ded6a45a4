// cudaError_t, its names and texts, and the two errors a process remembers: the last one, which
// asking for clears, and the sticky one, which a failed kernel leaves for good.
#pragma once

#include <cutegen_emulator/standard.hpp>

#define CUTEGEN_EMU_ERRORS(ERROR)                                                              \
  ERROR(cudaSuccess, 0, "no error")                                                            \
  ERROR(cudaErrorInvalidValue, 1, "invalid argument")                                          \
  ERROR(cudaErrorMemoryAllocation, 2, "out of memory")                                         \
  ERROR(cudaErrorInitializationError, 3, "initialization error")                               \
  ERROR(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                    \
  ERROR(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                   \
  ERROR(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                           \
  ERROR(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")              \
  ERROR(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                         \
  ERROR(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                          \
  ERROR(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                 \
  ERROR(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                    \
  ERROR(cudaErrorNoKernelImageForDevice, 209,                                                  \
        "no kernel image is available for execution on the device")                            \
  ERROR(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                        \
  ERROR(cudaErrorNotReady, 600, "device not ready")                                            \
  ERROR(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")              \
  ERROR(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")         \
  ERROR(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                \
  ERROR(cudaErrorAssert, 710, "device-side assert triggered")                                  \
  ERROR(cudaErrorMisalignedAddress, 716, "misaligned address")                                 \
  ERROR(cudaErrorLaunchFailure, 719, "unspecified launch failure")                             \
  ERROR(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")      \
  ERROR(cudaErrorNotPermitted, 800, "operation not permitted")                                 \
  ERROR(cudaErrorNotSupported, 801, "operation not supported")                                 \
  ERROR(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define CUTEGEN_EMU_ERROR(name, value, text) name = value,
  CUTEGEN_EMU_ERRORS(CUTEGEN_EMU_ERROR)
#undef CUTEGEN_EMU_ERROR
};
typedef enum cudaError cudaError_t;

inline char const* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define CUTEGEN_EMU_ERROR(name, value, text) \
  case name:                                 \
    return #name;
    CUTEGEN_EMU_ERRORS(CUTEGEN_EMU_ERROR)
#undef CUTEGEN_EMU_ERROR
  }
  return "unrecognized error code";
}

inline char const* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define CUTEGEN_EMU_ERROR(name, value, text) \
  case name:                                 \
    return text;
    CUTEGEN_EMU_ERRORS(CUTEGEN_EMU_ERROR)
#undef CUTEGEN_EMU_ERROR
  }
  return "unrecognized error code";
}

#undef CUTEGEN_EMU_ERRORS

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline std::atomic<int> last_error{cudaSuccess};
inline std::atomic<int> sticky_error{cudaSuccess};

inline std::atomic<long> launches{0};  // kernels, copies and fills since somebody last asked

inline cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

inline void record_sticky(cudaError_t error) {
  int none = cudaSuccess;
  sticky_error.compare_exchange_strong(none, error);
  last_error = sticky_error.load();
}

}  // namespace cutegen_emu

inline cudaError_t cudaPeekAtLastError() { return cudaError_t(cutegen_emu::last_error.load()); }

inline cudaError_t cudaGetLastError() {
  return cudaError_t(cutegen_emu::last_error.exchange(cutegen_emu::sticky_error));
}
