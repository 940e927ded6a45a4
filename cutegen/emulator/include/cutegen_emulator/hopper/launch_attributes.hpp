// Launches with attributes: clusters above all.
#pragma once

#include <cutegen_emulator/hopper/kernels.hpp>

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributePreferredClusterDimension = 11,
};

union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  int priority;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  struct {
    unsigned int x, y, z;
  } preferredClusterDim;
  int programmaticStreamSerializationAllowed;
};

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  char pad[8 - sizeof(cudaLaunchAttributeID)];
  union {
    cudaLaunchAttributeValue val;
    cudaLaunchAttributeValue value;
  };
};

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The launch that a configuration describes. `own` is the kernel's __cluster_dims__.
inline Launch configured(cudaLaunchConfig_t const& config, char const* name, void const* kernel,
                         dim3 own) {
  Launch launch(name, config.gridDim, config.blockDim, config.dynamicSmemBytes);
  launch.of(kernel);
  if (own.x) launch.cluster(own.x, own.y, own.z);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    cudaLaunchAttribute const& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      auto const& shape = attribute.val.clusterDim;
      launch.cluster(shape.x, shape.y, shape.z);
    }
  }
  return launch;
}

}  // namespace cutegen_emu

// Clusters that the machine holds at once, when none is split between groups of multiprocessors.
template <class... P>
inline cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*kernel)(P...),
                                                  cudaLaunchConfig_t const* config) {
  dim3 size = cutegen_emu::known_kernels().find(reinterpret_cast<void const*>(kernel)).cluster;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    cudaLaunchAttribute const& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      auto const& shape = attribute.val.clusterDim;
      size = dim3(shape.x, shape.y, shape.z);
    }
  }
  int blocks = 0;
  cudaError_t const error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, int(config->blockDim.x * config->blockDim.y * config->blockDim.z),
      config->dynamicSmemBytes);
  *clusters = blocks * cutegen_emu::kMultiprocessors / std::max(1u, size.x * size.y * size.z);
  return error;
}

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(cudaLaunchConfig_t const* config, void (*kernel)(P...),
                                      A&&... arguments) {
  void const* address = reinterpret_cast<void const*>(kernel);
  cutegen_emu::KnownKernel const known = cutegen_emu::known_kernels().find(address);
  std::tuple<P...> const values(std::forward<A>(arguments)...);
  return cutegen_emu::configured(*config, known.name, address, known.cluster).run([&] {
    std::apply(kernel, values);
  });
}

inline cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* kernel,
                                       void** arguments) {
  cutegen_emu::KnownKernel const known = cutegen_emu::known_kernels().find(kernel);
  if (!known.call) {
    cutegen_emu::report("fault", cutegen_emu::Fault::kEnvironment, "cudaLaunchKernelExC",
                        "a kernel whose name is not written in the candidate; launch it with "
                        "cudaLaunchKernelEx, or take its address where its name stands");
    return cutegen_emu::record(cudaErrorNotSupported);
  }
  return cutegen_emu::configured(*config, known.name, kernel, known.cluster).run([&] {
    known.call(kernel, arguments);
  });
}

inline cudaError_t cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t smem = 0, cudaStream_t stream = nullptr) {
  cudaLaunchConfig_t const config{grid, block, smem, stream, nullptr, 0};
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

// Clusters of a size that a GPU of 132 multiprocessors in groups of up to 18 has room for.
template <class Kernel>
inline cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel*,
                                                  cudaLaunchConfig_t const* config) {
  unsigned size = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    auto const& attribute = config->attrs[i];
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    auto const& shape = attribute.val.clusterDim;
    size = shape.x * shape.y * shape.z;
  }
  *clusters = size ? cutegen_emu::kMultiprocessors / int(size) : 0;
  return cudaSuccess;
}
