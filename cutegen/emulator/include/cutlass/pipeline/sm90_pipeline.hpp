// CUTLASS's header, with its breakpoints, which are all the PTX in it, as faults.
#pragma once

#include <cutlass/arch/barrier.h>
#include <cutlass/detail/dependent_false.hpp>
#include <cute/tensor.hpp>

#define asm
#define volatile(...) cutegen_emu::stop_at_breakpoint()
#include_next <cutlass/pipeline/sm90_pipeline.hpp>
#undef asm
#undef volatile
