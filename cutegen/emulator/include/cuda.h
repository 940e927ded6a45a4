// The driver API, as far as launch code needs it: tensor maps.
#pragma once

#include <cuda_runtime.h>
#include <cutegen_emulator/hopper/driver.hpp>

typedef cudaLaunchAttribute CUlaunchAttribute;
typedef cudaLaunchAttributeID CUlaunchAttributeID;
