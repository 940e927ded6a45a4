// cp.async under CuTe's names.
#pragma once

#include <cutegen_emulator/atoms/async_copies.hpp>

#define SM80_CP_ASYNC_CACHEALWAYS cutegen_of_cutlass_SM80_CP_ASYNC_CACHEALWAYS
#define SM80_CP_ASYNC_CACHEGLOBAL cutegen_of_cutlass_SM80_CP_ASYNC_CACHEGLOBAL
#define SM80_CP_ASYNC_CACHEALWAYS_ZFILL cutegen_of_cutlass_SM80_CP_ASYNC_CACHEALWAYS_ZFILL
#define SM80_CP_ASYNC_CACHEGLOBAL_ZFILL cutegen_of_cutlass_SM80_CP_ASYNC_CACHEGLOBAL_ZFILL
#define cp_async_fence cutegen_of_cutlass_cp_async_fence
#define cp_async_wait cutegen_of_cutlass_cp_async_wait
#include_next <cute/arch/copy_sm80.hpp>
#undef SM80_CP_ASYNC_CACHEALWAYS
#undef SM80_CP_ASYNC_CACHEGLOBAL
#undef SM80_CP_ASYNC_CACHEALWAYS_ZFILL
#undef SM80_CP_ASYNC_CACHEGLOBAL_ZFILL
#undef cp_async_fence
#undef cp_async_wait

#ifndef CUTE_ARCH_CP_ASYNC_SM80_ENABLED
#define CUTE_ARCH_CP_ASYNC_SM80_ENABLED
#endif

namespace cute {

template <class TS, class TD>
struct CutegenCpAsync {
  using SRegisters = TS[1];
  using DRegisters = TD[1];
  static_assert(sizeof(TS) == sizeof(TD), "cp.async copies a value to one of the same size");
  static_assert(sizeof(TS) == 4 || sizeof(TS) == 8 || sizeof(TS) == 16,
                "cp.async copies 4, 8 or 16 bytes");

  static void copy(TS const& source, TD& target) {
    ::cutegen_emu::async_copies().copy(&target, &source, sizeof(TS), sizeof(TS));
  }
};

template <class TS, class TD>
struct CutegenCpAsyncZfill : CutegenCpAsync<TS, TD> {
  static void copy(TS const& source, TD& target, bool predicate) {
    ::cutegen_emu::async_copies().copy(&target, &source, sizeof(TS), predicate ? sizeof(TS) : 0);
  }
};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEALWAYS : CutegenCpAsync<TS, TD> {};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEALWAYS_ZFILL : CutegenCpAsyncZfill<TS, TD> {};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEGLOBAL : CutegenCpAsync<TS, TD> {
  static_assert(sizeof(TS) == 16, "cp.async.cg copies 16 bytes");
};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEGLOBAL_ZFILL : CutegenCpAsyncZfill<TS, TD> {
  static_assert(sizeof(TS) == 16, "cp.async.cg copies 16 bytes");
};

inline void cp_async_fence() { ::cutegen_emu::async_copies().commit(); }

template <int N>
inline void cp_async_wait() {
  if constexpr (N == 0) {
    ::cutegen_emu::async_copies().wait_all();  // as CuTe has it: no group need be committed
  } else {
    ::cutegen_emu::async_copies().wait(N);
  }
}

template <int N>
inline void cp_async_wait(Int<N>) {
  cp_async_wait<N>();
}

}  // namespace cute
