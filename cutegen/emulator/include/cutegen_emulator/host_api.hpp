// The host API that launch code uses. Device memory is host memory; streams run at once.
#pragma once

#include <cutegen_emulator/launch.hpp>

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || size_t(value) > cutegen_emu::kSmemOptIn) {
    return cutegen_emu::record(cudaErrorInvalidValue);
  }
  cutegen_emu::smem_limits().allow(reinterpret_cast<void const*>(kernel), size_t(value));
  return cudaSuccess;
}

inline cudaError_t cudaDeviceSynchronize() {
  return cudaError_t(cutegen_emu::sticky_error.load());
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }

inline cudaError_t cudaMemsetAsync(void* target, int byte, size_t n, cudaStream_t = nullptr) {
  memset(target, byte, n);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* target, int byte, size_t n) {
  return cudaMemsetAsync(target, byte, n);
}
inline cudaError_t cudaMemcpyAsync(void* target, void const* source, size_t n, cudaMemcpyKind,
                                   cudaStream_t = nullptr) {
  memmove(target, source, n);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* target, void const* source, size_t n, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(target, source, n, kind);
}
