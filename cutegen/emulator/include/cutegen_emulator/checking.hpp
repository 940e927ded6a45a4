// What watches every access of a kernel, when a launch asks for it (CUTEGEN_EMU_WATCH=1). The
// compiler calls the watcher at each access it sees; what it does not see is told here:
//
//   an asynchronous copy, a matrix load      checking::reads(p, 16); checking::writes(q, 16);
//   a barrier of the emulator's own          checking::release(&barrier)   who arrives
//                                            checking::acquire(&barrier)   who has waited
//   the emulator uses a kernel's memory      checking::Unwatched own;
//
// The functions do nothing, cheaply, while nobody watches. See checks/watcher.hpp.
#pragma once

#include <cutegen_emulator/launch_state.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

class Machine;

namespace checking {

class Watcher;

// Called by the machine and the dispatcher, of a launch that is watched.
void begin_launch();
Watcher* watcher_of(Machine& machine);
void begin_cluster(Watcher& watcher);
void end_cluster(Watcher& watcher);
void begin_thread(Watcher& watcher);
void block_met(Watcher& watcher, int rank);  // all threads of a block have waited for each other
void warp_met(Watcher& watcher, int warp, uint32_t group);  // or these lanes of a warp

// What the running thread has done so far is seen by whoever acquires `subject` later on.
void release(void const* subject);
void acquire(void const* subject);

// The running thread is about to access memory in a way that no compiler sees. A fault ends the
// launch here, before the access. An access that takes effect later is told when it is ordered;
// `writes` at that time marks the bytes as written.
void reads(void const* address, size_t bytes);
void writes(void const* address, size_t bytes);

// The host has written device memory, between launches.
void host_writes(void const* address, size_t bytes);

// While one lives, the emulator itself uses a kernel's memory. No thread may leave meanwhile.
class Unwatched {
 public:
  Unwatched() { ++depth; }
  ~Unwatched() { --depth; }
  Unwatched(Unwatched const&) = delete;
  Unwatched& operator=(Unwatched const&) = delete;

  static inline thread_local __attribute__((tls_model("initial-exec"))) int depth = 0;
};

}  // namespace checking
}  // namespace cutegen_emu
