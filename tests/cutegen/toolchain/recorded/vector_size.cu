#include <cute/tensor.hpp>
#include "cutegen_args.h"
using namespace cute;
template <int N>
__global__ void work(float const* x, float* out) {
  auto src = make_tensor(make_gmem_ptr(x), make_shape(Int<3>{}));
  auto dst = make_tensor(make_gmem_ptr(out), make_shape(Int<3>{}));
  auto copier = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                make_layout(make_shape(Int<8>{})), make_layout(make_shape(Int<N - 1>{})));
  auto mine = copier.get_slice(threadIdx.x);
  copy(copier, mine.partition_S(src), mine.partition_D(dst));
}
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  work<4><<<1, 32, 0, a->stream>>>(a->x, a->out);
  return cudaGetLastError();
}
