// The machine's code, which candidates call. It is built once for all of them, and not watched.
#include <cuda_runtime.h>

#include <cutegen_emulator/block_barrier.hpp>
#include <cutegen_emulator/deadlock.hpp>
#include <cutegen_emulator/hopper/course.hpp>
#include <cutegen_emulator/launching.hpp>
#include <cutegen_emulator/scheduler.hpp>
#include <cutegen_emulator/spinning.hpp>
#include <cutegen_emulator/warp_meeting.hpp>
