// The one header of an emulated candidate: precompiled, and included before its first line.
#ifndef CUTEGEN_EMULATOR_H
#define CUTEGEN_EMULATOR_H

#include <cuda_runtime.h>

#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cluster_launch.hpp>
#include <cutlass/pipeline/pipeline.hpp>

#include <cutegen_emulator/atoms/cute_products.hpp>

#endif
