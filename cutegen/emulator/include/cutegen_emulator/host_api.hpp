// The host API that launch code uses. Device memory is host memory, and a stream's work is done
// when the call that ordered it returns.
#pragma once

#include <cutegen_emulator/device.hpp>
#include <cutegen_emulator/launch.hpp>

struct CUevent_st;
typedef CUevent_st* cudaEvent_t;

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 15,
};

enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxShared = 100,
  cudaSharedmemCarveoutMaxL1 = 0,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

constexpr unsigned cudaStreamDefault = 0;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && value) {
    cutegen_emu::large_clusters().allow(reinterpret_cast<void const*>(kernel));
  }
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
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaDeviceSynchronize(); }

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes ? bytes : 1) != 0) {
    return cutegen_emu::record(cudaErrorMemoryAllocation);
  }
  *pointer = static_cast<T*>(memset(memory, cutegen_emu::poison_from_environment(), bytes));
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  free(pointer);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

inline cudaError_t cudaMemsetAsync(void* target, int byte, size_t bytes, cudaStream_t = nullptr) {
  ++cutegen_emu::launches;
  memset(target, byte, bytes);
  cutegen_emu::checking::host_writes(target, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* target, int byte, size_t bytes) {
  return cudaMemsetAsync(target, byte, bytes);
}
inline cudaError_t cudaMemcpyAsync(void* target, void const* source, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t = nullptr) {
  ++cutegen_emu::launches;
  memmove(target, source, bytes);
  cutegen_emu::checking::host_writes(target, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* target, void const* source, size_t bytes,
                              cudaMemcpyKind kind) {
  return cudaMemcpyAsync(target, source, bytes, kind);
}

template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, void const* source, size_t bytes,
                                    size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice,
                                    cudaStream_t = nullptr) {
  if (offset + bytes > sizeof(T)) return cutegen_emu::record(cudaErrorInvalidValue);
  memcpy(reinterpret_cast<char*>(const_cast<std::remove_cv_t<T>*>(&symbol)) + offset, source,
         bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, void const* source, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbolAsync(symbol, source, bytes, offset, kind);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, T& symbol) {
  *pointer = const_cast<std::remove_cv_t<T>*>(&symbol);
  return cudaSuccess;
}

// Blocks of a kernel that fit on a multiprocessor, registers left out of account.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int block_size,
                                                          size_t smem_bytes) {
  if (block_size < 1 || block_size > cutegen_emu::kMaxThreads) {
    return cutegen_emu::record(cudaErrorInvalidValue);
  }
  int const warps = (block_size + 31) / 32;
  // The system keeps 1 KiB of every block's shared memory.
  int const by_smem = int(cutegen_emu::kSmemPerSm / (smem_bytes + 1024));
  *blocks = std::min({64 / warps, 32, by_smem});
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, Kernel* kernel,
                                               size_t smem_bytes = 0, int limit = 0) {
  *block_size = limit > 0 ? std::min(limit, 1024) : 1024;
  int blocks = 0;
  cudaError_t const error =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, *block_size, smem_bytes);
  *grid_size = blocks * cutegen_emu::kMultiprocessors;
  return error;
}

namespace cutegen_emu __attribute__((visibility("hidden"))) {

template <class... P, size_t... I>
cudaError_t launch_unpacked(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                            size_t smem, std::index_sequence<I...>) {
  Launch("a kernel of cudaLaunchKernel", grid, block, smem).run([&] {
    kernel(*static_cast<std::remove_reference_t<P>*>(arguments[I])...);
  });
  return cudaPeekAtLastError();
}

}  // namespace cutegen_emu

template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t smem = 0, cudaStream_t = nullptr) {
  return cutegen_emu::launch_unpacked(kernel, grid, block, arguments, smem,
                                      std::index_sequence_for<P...>{});
}

// For the executor: what a GPU would report at the next synchronisation, also to a candidate that
// never asked.
extern "C" __attribute__((used, visibility("default"))) inline long cutegen_emulator_launches() {
  return cutegen_emu::launches.exchange(0);
}

extern "C" __attribute__((used, visibility("default"))) inline int cutegen_emulator_synchronize() {
  return cudaDeviceSynchronize();
}
