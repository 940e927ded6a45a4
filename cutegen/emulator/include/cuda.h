// The driver API. CuTe's headers include it for TMA, which the emulator does not have.
#pragma once

#include <cuda_runtime.h>
