#pragma once

#include <cuda_runtime.h>
#include <cutegen_emulator/half_types.hpp>
