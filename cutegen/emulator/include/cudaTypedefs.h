// The types of the driver's functions, for those who look them up.
#pragma once

#include <cuda.h>

typedef decltype(&cuTensorMapEncodeTiled) PFN_cuTensorMapEncodeTiled;
typedef PFN_cuTensorMapEncodeTiled PFN_cuTensorMapEncodeTiled_v12000;
typedef CUresult (*PFN_cuTensorMapEncodeIm2col)(...);
