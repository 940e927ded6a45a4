// The hooks of checking.hpp, and what the executor tells of memory.
#include <cuda_runtime.h>

#include "watcher.hpp"

namespace cutegen_emu __attribute__((visibility("hidden"))) {
namespace checking {
namespace {

Watcher* watching() { return machine && machine->on_fiber() ? machine->watcher : nullptr; }

void told(void const* address, size_t bytes, Kind kind, void const* caller) {
  if (Watcher* watcher = watching()) {
    watcher->access(reinterpret_cast<uintptr_t>(address), bytes, kind, caller);
  }
}

}  // namespace

void begin_launch() { first_of_launch = turns; }

Watcher* watcher_of(Machine& machine) {
  // As long as the machine, that is for good. Launches that are watched have one machine.
  static std::map<Machine*, std::unique_ptr<Watcher>> watchers;
  std::unique_ptr<Watcher>& watcher = watchers[&machine];
  if (!watcher) watcher = std::make_unique<Watcher>(machine);
  return watcher.get();
}

void begin_cluster(Watcher& watcher) { watcher.begin_cluster(); }
void end_cluster(Watcher& watcher) { watcher.settle(); }
void begin_thread(Watcher& watcher) { watcher.begin_thread(); }
void block_met(Watcher& watcher, int rank) { watcher.block_met(rank); }
void warp_met(Watcher& watcher, int warp, uint32_t group) { watcher.warp_met(warp, group); }

void release(void const* subject) {
  if (Watcher* watcher = watching()) watcher->release(subject);
}

void acquire(void const* subject) {
  if (Watcher* watcher = watching()) watcher->acquire(subject);
}

void reads(void const* address, size_t bytes) {
  told(address, bytes, Kind::kRead, __builtin_return_address(0));
}

void host_writes(void const* address, size_t bytes) {
  device_memory().written(reinterpret_cast<uintptr_t>(address), bytes, ++turns);
}

void writes(void const* address, size_t bytes) {
  told(address, bytes, Kind::kWrite, __builtin_return_address(0));
}

}  // namespace checking
}  // namespace cutegen_emu

// Before each launch: the address space that belongs to device memory, then every piece of it,
// the bytes of its elements, and whether somebody has written it.
extern "C" __attribute__((visibility("default"))) void cutegen_emulator_device_memory(
    void const* begin, size_t bytes) {
  cutegen_emu::checking::device_memory().reset(reinterpret_cast<uintptr_t>(begin), bytes);
}

extern "C" __attribute__((visibility("default"))) void cutegen_emulator_tensor(
    char const* name, void const* begin, size_t bytes, size_t element, bool written) {
  cutegen_emu::checking::device_memory().add(name, reinterpret_cast<uintptr_t>(begin), bytes,
                                             element, written);
}
