// cp.async: copies that a thread issues, gathers into groups, and waits for.
//
// A GPU may make such a copy at any moment between its issue and the wait. CUTEGEN_EMU_CPASYNC
// says when the emulator does: `late`, the default, as late as the rules allow; `now`, at once; or
// `random`. The target of a copy that is under way holds poison, so that who reads it too early,
// or overwrites what others still read, computes NaN.
#pragma once

#include <cutegen_emulator/atoms/shared_access.hpp>
#include <cutegen_emulator/settings.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The copies under way of all threads of the cluster that an OS thread runs.
class AsyncCopies {
 public:
  using Then = void (*)(void* argument);

  // cp.async of `bytes` bytes, 4, 8 or 16, of which `present` come from the source; the others
  // become zero, and then the source is not read.
  void copy(void* target, void const* source, int bytes, int present) {
    check_shared_access("cp.async", target, bytes);
    uintptr_t const address = reinterpret_cast<uintptr_t>(source);
    if (present && address % bytes) {
      machine->fail(cudaErrorMisalignedAddress,
                    "cp.async of " + std::to_string(bytes) +
                        " bytes of global memory at an address that is a multiple of " +
                        std::to_string(address & -address) + " bytes only",
                    caller_line());
    }
    if (present) checking::reads(source, present);
    checking::writes(target, bytes);
    Queue& queue = own_queue();
    Entry const entry{target, source, bytes, present, queue.group, nullptr, nullptr};
    if (when_ == CopyTime::kNow || (when_ == CopyTime::kRandom && machine->random().below(2))) {
      finish(entry);
      return;
    }
    poison(target, bytes);
    queue.pending.push_back(entry);
  }

  // cp.async.commit_group
  void commit() { ++own_queue().group; }

  // cp.async.wait_group: all groups but the `latest` latest ones are done.
  void wait(int latest) {
    Queue& queue = own_queue();
    if (queue.group > uint32_t(latest)) finish_groups(queue, queue.group - uint32_t(latest));
  }

  // cp.async.wait_all: and what is in no group yet.
  void wait_all() {
    Queue& queue = own_queue();
    finish_groups(queue, queue.group + 1);
  }

  // Calls `then` when every copy that the running thread has issued is done: the arrival of
  // cp.async.mbarrier.arrive. Nobody may wait for the copies, so it happens in a stall at the
  // latest.
  void after_prior(Then then, void* argument) {
    Queue& queue = own_queue();
    if (queue.pending.empty()) return then(argument);
    queue.pending.push_back({nullptr, nullptr, 0, 0, queue.group, then, argument});
    machine->when_stalled([](Machine&) { return of_this_thread().finish_arrivals(); });
  }

  static AsyncCopies& of_this_thread() {
    static thread_local __attribute__((tls_model("initial-exec"))) AsyncCopies* own = nullptr;
    if (!own) own = new AsyncCopies;  // as long as the process: there are as many as OS threads
    return *own;
  }

 private:
  struct Entry {
    void* target;
    void const* source;
    int bytes;
    int present;
    uint32_t group;
    Then then;
    void* argument;
  };

  struct Queue {
    uint32_t group = 0;  // of the next copy
    std::vector<Entry> pending;
  };

  // Copies of an older cluster are forgotten: their shared memory is gone.
  Queue& own_queue() {
    if (machine_ != machine || generation_ != machine->generation()) {
      machine_ = machine;
      generation_ = machine->generation();
      when_ = copy_time_from_environment();
      queues_.assign(size_t(machine->stride()) * machine->block_count(), Queue{});
    }
    return queues_[machine->current()];
  }

  static void poison(void* target, int bytes) {
    checking::Unwatched unwatched;
    memset(target, machine->launch().poison, bytes);
  }

  static void finish(Entry const& entry) {
    if (entry.then) {
      entry.then(entry.argument);
      return;
    }
    checking::Unwatched unwatched;
    memcpy(entry.target, entry.source, entry.present);
    memset(static_cast<char*>(entry.target) + entry.present, 0, entry.bytes - entry.present);
  }

  static void finish_groups(Queue& queue, uint32_t before) {
    size_t done = 0;
    while (done < queue.pending.size() && queue.pending[done].group < before) ++done;
    finish_first(queue, done);
  }

  static void finish_first(Queue& queue, size_t count) {
    if (!count) return;
    for (size_t i = 0; i < count; ++i) finish(queue.pending[i]);
    queue.pending.erase(queue.pending.begin(), queue.pending.begin() + long(count));
  }

  bool finish_arrivals() {
    if (machine_ != machine || generation_ != machine->generation()) return false;
    bool any = false;
    for (Queue& queue : queues_) {
      size_t count = queue.pending.size();
      while (count && !queue.pending[count - 1].then) --count;
      any = any || count;
      finish_first(queue, count);
    }
    return any;
  }

  Machine* machine_ = nullptr;
  uint64_t generation_ = 0;
  CopyTime when_ = CopyTime::kLate;
  std::vector<Queue> queues_;  // by fiber
};

inline AsyncCopies& async_copies() { return AsyncCopies::of_this_thread(); }

}  // namespace cutegen_emu
