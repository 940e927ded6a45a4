// Stands in for the CUDA toolkit's header: device language and host API, on the CPU.
#pragma once

#include <cutegen_emulator/standard.hpp>
#include <cutegen_emulator/cuda_std.hpp>
#include <cutegen_emulator/vector_types.hpp>
#include <cutegen_emulator/qualifiers.hpp>
#include <cutegen_emulator/errors.hpp>
#include <cutegen_emulator/fiber.hpp>
#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/launch.hpp>
#include <cutegen_emulator/shared.hpp>
#include <cutegen_emulator/barrier.hpp>
#include <cutegen_emulator/warp.hpp>
#include <cutegen_emulator/atomics.hpp>
#include <cutegen_emulator/memory.hpp>
#include <cutegen_emulator/bits.hpp>
#include <cutegen_emulator/math.hpp>
#include <cutegen_emulator/host_api.hpp>
#include <cutegen_emulator/hopper/launch_attributes.hpp>
#include <cutegen_emulator/hopper/device_functions.hpp>
