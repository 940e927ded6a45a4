// Nothing at all: what a launch alone takes between two events.
#include "cutegen_args.h"

__global__ void nothing() {}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  nothing<<<1, 32, 0, a->stream>>>();
  return cudaGetLastError();
}
