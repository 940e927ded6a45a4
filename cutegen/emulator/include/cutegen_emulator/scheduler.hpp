// Who runs next on a machine, and how one fiber gives way to another.
#pragma once

#include <cutegen_emulator/machine.hpp>
#include <cutegen_emulator/shared_memory.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

Machine::Machine() {
  blocks_.resize(1);
  shared_.emplace_back(new SharedMemory);
  blocks_[0].shared = shared_[0].get();
}

Machine::~Machine() = default;

void fiber_main() { machine->run_here(); }

void Machine::begin_launch(LaunchState& launch) {
  launch_ = &launch;
  blockDim = launch.block;
  gridDim = launch.grid;
  threads_ = int(launch.block.x * launch.block.y * launch.block.z);
  stride_ = (threads_ + kWarp - 1) / kWarp * kWarp;
  int const blocks = int(launch.cluster.x * launch.cluster.y * launch.cluster.z);
  int const fibers = blocks * stride_;
  while (int(shared_.size()) < blocks) shared_.emplace_back(new SharedMemory);
  blocks_.resize(blocks);
  for (int rank = 0; rank < blocks; ++rank) blocks_[rank].shared = shared_[rank].get();
  fibers_.assign(fibers, Fiber{});
  warps_.assign(fibers / kWarp, Warp{});
  size_t ring = kWarp;
  while (ring < size_t(fibers)) ring *= 2;
  ready_.resize(ring);
  for (int rank = 0; rank < blocks; ++rank) {
    Fiber* fiber = &fibers_[rank * stride_];
    for (unsigned z = 0; z < launch.block.z; ++z)
      for (unsigned y = 0; y < launch.block.y; ++y)
        for (unsigned x = 0; x < launch.block.x; ++x, ++fiber) {
          fiber->index = {x, y, z};
          fiber->block = uint8_t(rank);
        }
  }
}

void Machine::begin_cluster(uint3 place, uint64_t linear) {
  ++generation_;
  random_ = Random(launch_->seed ^ (linear + 1) * 0xA24BAED4963EE407u);
  ready_head_ = ready_count_ = 0;
  alive_ = 0;
  dim3 const shape = launch_->cluster;
  for (int rank = 0; rank < block_count(); ++rank) {
    Block& block = blocks_[rank];
    unsigned const r = unsigned(rank);
    block.index = {place.x * shape.x + r % shape.x, place.y * shape.y + r / shape.x % shape.y,
                   place.z * shape.z + r / (shape.x * shape.y)};
    block.alive = threads_;
    block.at_barrier = block.barrier_line = block.predicate_sum = 0;
    block.shared->begin_block(launch_->smem_bytes, launch_->poison);
    alive_ += threads_;
    for (int t = 0; t < threads_; t += kWarp) {
      int const lanes = std::min(threads_ - t, kWarp);
      warps_[(rank * stride_ + t) / kWarp] = {lanes == kWarp ? ~0u : (1u << lanes) - 1, 0};
    }
  }
  active_ = 0;
  blockIdx = blocks_[0].index;
  int const all = block_count() * stride_;
  watcher = launch_->watched ? checking::watcher_of(*this) : nullptr;
  if (watcher) checking::begin_cluster(*watcher);
  bool const backwards = launch_->order == Order::kReverse;
  for (int i = 0; i < all; ++i) {
    int const fiber = backwards ? all - 1 - i : i;
    if (fiber % stride_ < threads_) make_ready(fiber);
  }
}

void Machine::run_cluster(uint3 place, uint64_t linear) {
  begin_cluster(place, linear);
  ++launch_->running;
  while (alive_ > 0) {
    run_ready();
    if (alive_ == 0 || failed()) break;
    if (!release_stalled() && !launch_->failed.exchange(true)) report_deadlock();
  }
  if (watcher) checking::end_cluster(*watcher);
  progressed();
  --launch_->running;
  launch_->progress.fetch_add(1, std::memory_order_relaxed);
  end_cluster();
}

void Machine::end_cluster() {
  if (alive_) {  // it was given up
    for (Fiber& fiber : fibers_) {
      if (fiber.stack) stacks_.give(fiber.stack);
      fiber.stack = nullptr;
      fiber.wait = Wait::kNothing;
    }
    return;
  }
  for (OnEnd handler : on_end_) handler(*this);
  for (Block& block : blocks_) {
    long const overrun = block.shared->overrun();
    if (overrun < 0 || launch_->failed.exchange(true)) continue;
    report("fault", Fault::kOutOfBounds, launch_->kernel,
           "wrote beyond the end of a shared memory array of " + std::to_string(overrun) +
               " bytes, in the block of " + where(int(&block - &blocks_[0]) * stride_));
    record_sticky(cudaErrorIllegalAddress);
  }
}

void Machine::make_ready(int fiber) {
  fibers_[fiber].wait = Wait::kNothing;
  ready_[(ready_head_ + ready_count_++) & (ready_.size() - 1)] = uint16_t(fiber);
}

int Machine::next_ready() {
  if (ready_count_ == 0) return -1;
  size_t const wrap = ready_.size() - 1;
  if (launch_->order == Order::kRandom) {
    std::swap(ready_[ready_head_ & wrap],
              ready_[(ready_head_ + random_.below(ready_count_)) & wrap]);
  }
  --ready_count_;
  return ready_[ready_head_++ & wrap];
}

void Machine::activate(int fiber) {
  current_ = fiber;
  threadIdx = fibers_[fiber].index;
  if (fibers_[fiber].block != active_) {
    active_ = fibers_[fiber].block;
    blockIdx = blocks_[active_].index;
  }
}

// Where a thread goes on, or begins on a stack of its own.
void* Machine::entrance(int number) {
  Fiber& fiber = fibers_[number];
  if (!fiber.stack) {
    fiber.stack = stacks_.take();
    fiber.stack_pointer = StackPool::prepare(fiber.stack, fiber_main);
  }
  return fiber.stack_pointer;
}

void Machine::reap() {
  if (!dead_) return;
  stacks_.give(dead_);
  dead_ = nullptr;
}

// Called by the scheduler: returns when no thread is ready any more, or the launch has failed.
void Machine::run_ready() {
  int const fiber = next_ready();
  if (fiber < 0) return;
  activate(fiber);
  cutegen_emu_switch(&scheduler_, entrance(fiber));
  reap();
}

// Leaves the running thread, whose turn comes again when somebody makes it ready.
void Machine::suspend() {
  Fiber& fiber = fibers_[current_];
  int const next = failed() ? -1 : next_ready();
  if (next == current_) return;
  if (next < 0) {
    current_ = -1;
    cutegen_emu_switch(&fiber.stack_pointer, scheduler_);
  } else {
    activate(next);
    cutegen_emu_switch(&fiber.stack_pointer, entrance(next));
  }
  reap();
}

void Machine::yield() {
  make_ready(current_);
  suspend();
}

void Machine::park(Parking const& parking) {
  fibers_[current_].parking = parking;
  fibers_[current_].wait = Wait::kParked;
  suspend();
}

// The life of a stack: one thread after another, without a switch as long as none has to wait.
void Machine::run_here() {
  reap();
  for (;;) {
    if (watcher) checking::begin_thread(*watcher);
    launch_->enter(launch_->closure);
    retire();
    char*& stack = fibers_[current_].stack;
    int const next = failed() ? -1 : next_ready();
    void* dropped;
    if (next >= 0 && !fibers_[next].stack) {
      fibers_[next].stack = stack;
      stack = nullptr;
      activate(next);
      continue;
    }
    dead_ = stack;
    stack = nullptr;
    if (next < 0) {
      current_ = -1;
      cutegen_emu_switch(&dropped, scheduler_);
    } else {
      activate(next);
      cutegen_emu_switch(&dropped, fibers_[next].stack_pointer);
    }
  }
}

// The running thread has ended, and keeps nobody waiting.
void Machine::retire() {
  int const warp = current_ / kWarp;
  warps_[warp].alive &= ~(1u << (current_ % kWarp));
  --alive_;
  progressed();
  Block& block = blocks_[active_];
  --block.alive;
  if (block.at_barrier && block.at_barrier == block.alive) release_barrier(active_);
  if (warps_[warp].waiting) {
    int const lane = __builtin_ctz(warps_[warp].waiting);
    try_meeting(warp, fibers_[warp * kWarp + lane].visit.mask, -1);
  }
}

}  // namespace cutegen_emu
