// Stacks and the switch between them: what makes one OS thread carry a block of CUDA threads.
#pragma once

#include <cutegen_emulator/standard.hpp>

// Saves the callee-saved registers on the running stack, its pointer in *from, and goes on where
// `to` was left. Nothing else is live across a call, so this is all of a thread's state.
extern "C" __attribute__((visibility("hidden"))) void cutegen_emu_switch(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
.pushsection .text
.p2align 4
.type cutegen_emu_switch, @function
cutegen_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rdx
  jmpq *%rdx
.size cutegen_emu_switch, .-cutegen_emu_switch
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.p2align 4
.type cutegen_emu_switch, %function
cutegen_emu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cutegen_emu_switch, .-cutegen_emu_switch
.popsection
)");
#else
#error "the emulator switches stacks on x86-64 and aarch64 only"
#endif

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// The stacks of one OS thread. The most recently returned one is handed out first: it is warm.
class StackPool {
 public:
  static constexpr size_t kBytes = 256 << 10;
  static constexpr size_t kGuard = 4 << 10;

  // The upper end of a free stack.
  char* take() {
    if (free_.empty()) grow();
    char* top = free_.back();
    free_.pop_back();
    return top;
  }

  void give(char* top) { free_.push_back(top); }

  // The stack pointer of a fiber that will begin in `entry`, which must not return.
  static void* prepare(char* top, void (*entry)()) {
    void** slot = reinterpret_cast<void**>(top);
#if defined(__x86_64__)
    slot[-1] = nullptr;  // the return address of `entry`: ends a debugger's walk
    slot[-2] = reinterpret_cast<void*>(entry);
    return slot - 8;
#else
    slot[-9] = reinterpret_cast<void*>(entry);  // x30
    return slot - 20;
#endif
  }

 private:
  void grow() {
    constexpr int kChunk = 16;
    void* chunk = mmap(nullptr, kChunk * kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (chunk == MAP_FAILED) {
      fprintf(stderr, "cutegen emulator: no memory for the stacks of a block\n");
      abort();
    }
    for (int i = kChunk - 1; i >= 0; --i) {
      char* base = static_cast<char*>(chunk) + i * kBytes;
      // A stack without its guard page still works, and mappings are a limited resource.
      (void)mprotect(base, kGuard, PROT_NONE);
      free_.push_back(base + kBytes - colour());
    }
  }

  // Stacks a power of two apart would all live in one set of the caches.
  size_t colour() { return (made_++ % 61) * 320; }

  std::vector<char*> free_;
  size_t made_ = 0;
};

}  // namespace cutegen_emu
