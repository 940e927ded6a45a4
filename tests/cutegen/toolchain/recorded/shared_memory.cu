#include <cute/tensor.hpp>
#include "cutegen_args.h"
using namespace cute;
__global__ void work(float const* x, float* out) {
  __shared__ float big[60000];
  big[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = big[31 - threadIdx.x] + big[out[0] > 0 ? 59999 : 1];
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  work<<<1, 32, 0, a->stream>>>(a->x, a->out);
  return cudaGetLastError();
}
