// The many ways to write a launch, a kernel and a shared variable. Each adds its digit to out[0].
#include "cutegen_args.h"

#include <cute/tensor.hpp>
#include <tuple>

extern __shared__ float pool[];  // at namespace scope
__shared__ int file_scope[4];

namespace outer { namespace inner {
template <class T, int N> struct Box { static constexpr int value = N; T data[N]; };
template <class T>
__global__ void deduced(T* out, T digit) { if (threadIdx.x == 0) *out += digit; }
template <typename B> __global__ void boxed(float* out, float digit) {
  __shared__ B box; __shared__ typename cute::conditional_t<(B::value > 2), B, float> other, array[2];
  box.data[threadIdx.x % B::value] = digit;
  __syncthreads();
  if (threadIdx.x == 0) out[0] += box.data[1];
}
}}  // namespace outer::inner

struct Kernels {
  template <int MODE> static __global__ void member(float* out, float digit) {
    volatile __shared__ float a[1], *pointer;
    pointer = a;
    if (threadIdx.x == 0) { *pointer = digit * MODE; *out += a[0]; }
  }
};

template <int ID> __device__ __noinline__ float* own_storage() {
  __shared__ float mine[2];
  return mine;
}

__global__ void separate(float* out, float digit) {
  float* one = own_storage<1>(), *two = own_storage<2>();
  if (threadIdx.x == 0) { one[0] = digit; two[0] = -100; }
  __syncthreads();
  if (threadIdx.x == 0) *out += one[0];
}

__global__ void __launch_bounds__(64) scoped(float* out, float digit) {
  file_scope[threadIdx.x % 4] = int(digit);
  pool[threadIdx.x] = digit;
  __syncthreads();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (threadIdx.x == 0) out[0] += pool[blockDim.x - 1] == file_scope[3] ? digit : 1e6f;
#endif
}

#define CHECKED_LAUNCH(kernel, grid, block, ...) \
  do {                                           \
    kernel<<<grid, block>>>(__VA_ARGS__);        \
    if (cudaPeekAtLastError() != cudaSuccess)    \
      return cudaGetLastError();                 \
  } while (0)

template <class Kernel, class... Arguments>
void forward(Kernel kernel, Arguments... arguments) { kernel<<<1, 32>>>(arguments...); }

template <class Owner> void dependent(float* out) { Owner::template member<2><<<1, 32>>>(out, 35.f); }

using outer::inner::Box;

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  float* out = a->out;
  auto const [digit, threads] = std::make_tuple(1.f, 32);
  outer::inner::deduced<<<1, threads>>>(out, digit);
  ::outer::inner::boxed<Box<float, (4 > 3) ? 4 : 2>> <<<dim3(1), dim3(threads)>>>(out, 10 * digit);
  Kernels::member<1><<<1, 32>>>(out, 100.f);
  dependent<Kernels>(out);
  forward(separate, out, 1000.f);
  CHECKED_LAUNCH((outer::inner::deduced<float>), 1, 32, out, 10000.f);
  void (*table[])(float*, float) = {scoped, separate};
  for (int i = 0; i < 1; ++i) table[i]<<<1, 64, 64 * sizeof(float)>>>(out, 20000.f);
  float big = 100000.f;
  void* arguments[] = {&out, &big};
  return cudaLaunchKernel(separate, dim3(1), dim3(32), arguments, 0, a->stream);
}
