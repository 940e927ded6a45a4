// Issue, commit and wait of a warpgroup's products. A product is computed when its group is waited
// for, as late as the rules allow: until then shared memory must stay as it is, and the
// accumulators hold poison.
#pragma once

#include <cutegen_emulator/hopper/operands.hpp>
#include <cutegen_emulator/warp.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

inline Warpgroup& own_warpgroup(char const* what, int line) {
  int const thread = machine->current() % machine->stride();
  if (machine->threads() < (thread / Warpgroup::kThreads + 1) * Warpgroup::kThreads) {
    machine->fail(cudaErrorLaunchFailure,
                  std::string(what) + " in a warpgroup that is not whole: it takes 128 threads",
                  line);
  }
  return Asynchronous::now()
      .warpgroups[machine->block_rank() * Warpgroup::kMost + thread / Warpgroup::kThreads];
}

// The lanes of a warp do this together: none may be so late that it misses a phase of a barrier.
inline void fence_warpgroup(int line) {
  own_warpgroup("warpgroup_arrive", line);
  meet("warpgroup_arrive", nullptr, ~0u, 0, line);
  Asynchronous::now().products[machine->current()].fenced = true;
}

// Takes the accumulators from the thread, unless an earlier product has them already.
inline Accumulators& take_accumulators(WarpgroupThread& thread, uint32_t* registers, int count) {
  for (Accumulators& taken : thread.accumulators) {
    if (taken.registers == registers && taken.unfinished) return taken;
  }
  thread.accumulators.push_back({registers, {registers, registers + count}, 0});
  memset(registers, machine->launch().poison, count * sizeof(uint32_t));
  return thread.accumulators.back();
}

inline void issue_product(Product product, uint32_t* registers, int count) {
  own_warpgroup("wgmma", product.line);
  WarpgroupThread& thread = Asynchronous::now().products[machine->current()];
  if (!thread.fenced) {
    machine->fail(Fault::kRace, cudaErrorLaunchFailure,
                  "wgmma without warpgroup_arrive() before it: it may read registers and shared "
                  "memory that are still being written",
                  product.line);
  }
  product.accumulators = &take_accumulators(thread, registers, count);
  ++product.accumulators->unfinished;
  product.group = thread.commits;
  thread.products.push_back(product);
}

inline void commit_products(int line) {
  own_warpgroup("warpgroup_commit_batch", line);
  ++Asynchronous::now().products[machine->current()].commits;
}

// Gives back accumulators that no product needs any more.
inline void give_back_accumulators(WarpgroupThread& thread) {
  for (Accumulators& taken : thread.accumulators) {
    if (taken.unfinished || !taken.registers) continue;
    memcpy(taken.registers, taken.values.data(), taken.values.size() * sizeof(uint32_t));
    taken.registers = nullptr;
  }
  while (!thread.accumulators.empty() && !thread.accumulators.front().registers) {
    thread.accumulators.pop_front();
  }
}

// Computes all but the last `keep` groups of the warpgroup that the running thread belongs to.
inline void finish_products(WarpgroupThread* threads, int keep, int line) {
  for (;;) {
    Product* of_threads[Warpgroup::kThreads];
    Product const* const first =
        threads[0].products.empty() ? nullptr : &threads[0].products.front();
    bool const due = first && first->group < threads[0].commits - keep;
    for (int t = 0; t < Warpgroup::kThreads; ++t) {
      auto& products = threads[t].products;
      Product* const own_one = products.empty() ? nullptr : &products.front();
      bool const alike = first ? own_one && own_one->evaluate == first->evaluate &&
                                     own_one->a == first->a && own_one->b == first->b &&
                                     own_one->group == first->group
                               : own_one == nullptr;
      if (!alike || threads[t].commits != threads[0].commits || threads[t].keep != keep) {
        machine->fail(Fault::kDivergence, cudaErrorLaunchFailure,
                      "the threads of a warpgroup issued different products, or wait for "
                      "different ones",
                      line);
      }
      of_threads[t] = own_one;
    }
    if (!due) break;
    if (machine->launch().watched) first->check(*first, line);
    {
      checking::Unwatched own;
      first->evaluate(of_threads);
    }
    for (int t = 0; t < Warpgroup::kThreads; ++t) {
      --of_threads[t]->accumulators->unfinished;
      threads[t].products.pop_front();
    }
  }
  for (int t = 0; t < Warpgroup::kThreads; ++t) give_back_accumulators(threads[t]);
}

inline std::string describe_warpgroup(void const* subject) {
  int const waiting = static_cast<Warpgroup const*>(subject)->waiting;
  return std::to_string(Warpgroup::kThreads - waiting) + " threads of the warpgroup are missing";
}

inline void wait_for_products(int keep, int line) {
  Warpgroup& group = own_warpgroup("warpgroup_wait", line);
  Asynchronous& state = Asynchronous::now();
  int const fiber = machine->current();
  int const first = fiber - fiber % machine->stride() % Warpgroup::kThreads;
  state.products[fiber].keep = keep;
  // The operands have been read for all threads, whoever tells the producer.
  checking::release(&group);
  if (++group.waiting < Warpgroup::kThreads) {
    machine->park({"warpgroup_wait", line, &group, describe_warpgroup});
  } else {
    group.waiting = 0;
    checking::acquire(&group);
    finish_products(&state.products[first], keep, line);
    checking::release(&group);
    for (int t = first; t < first + Warpgroup::kThreads; ++t) {
      if (t != fiber) state.wake(t);
    }
  }
  checking::acquire(&group);
}

}  // namespace cutegen_emu
