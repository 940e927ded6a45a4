#include <cute/tensor.hpp>
#include "cutegen_args.h"
using namespace cute;
__global__ void work(float const* x, float* out) {
  asm volatile("ldmatrixx.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=f"(out[0]) : "l"(x));
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  work<<<1, 32, 0, a->stream>>>(a->x, a->out);
  return cudaGetLastError();
}
