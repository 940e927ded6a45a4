// In place of CuTe's header: the bulk copies of TMA.
#pragma once

#include <cute/config.hpp>

#include <cute/arch/config.hpp>
#include <cute/arch/copy.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cutlass/arch/synclog.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

template <class... C>
inline Copy box_copy(char const* what, void const* descriptor, void const* shared, C... corner) {
  Copy copy{what, caller_line()};
  copy.map = require_tensor_map(descriptor, sizeof...(C), what, copy.line);
  int d = 0;
  ((copy.corner[d++] = corner), ...);
  copy.shared = static_cast<char*>(const_cast<void*>(shared));
  copy.bytes = uint32_t(copy.map.box_bytes());
  require_aligned(shared, 128, what, "address in shared memory", copy.line);
  return copy;
}

template <class... C>
inline void load_box(char const* what, void const* descriptor, uint64_t* barrier, uint16_t blocks,
                     void* shared, C... corner) {
  Copy copy = box_copy(what, descriptor, shared, corner...);
  copy.barrier = barrier;
  copy.blocks = blocks;
  order_load(copy);
}

template <class... C>
inline void store_box(char const* what, Reduction reduction, void const* descriptor,
                      void const* shared, C... corner) {
  Copy copy = box_copy(what, descriptor, shared, corner...);
  copy.reduction = reduction;
  order_store(copy);
}

inline Copy plain_copy(char const* what, void const* global, void const* shared, int32_t bytes) {
  Copy copy{what, caller_line()};
  copy.global = static_cast<char*>(const_cast<void*>(global));
  copy.shared = static_cast<char*>(const_cast<void*>(shared));
  copy.bytes = uint32_t(bytes);
  require_aligned(global, 16, what, "address in global memory", copy.line);
  require_aligned(shared, 16, what, "address in shared memory", copy.line);
  require_aligned(reinterpret_cast<void const*>(uintptr_t(bytes)), 16, what, "size", copy.line);
  return copy;
}

[[noreturn]] inline void refuse_im2col() {
  machine->fail(Fault::kEnvironment, cudaErrorNotSupported,
                "im2col copies of TMA are not emulated; judge this candidate with "
                "`--executor cuda`",
                caller_line());
}

}  // namespace cutegen_emu

namespace cute {

struct SM90_TMA_LOAD {
  template <class... C>
  static void copy(void const* descriptor, uint64_t* barrier, uint64_t, void* shared,
                   C const&... corner) {
    cutegen_emu::load_box("a TMA load", descriptor, barrier,
                          uint16_t(1u << block_rank_in_cluster()), shared, int32_t(corner)...);
  }
  struct PREFETCH {
    template <class... C>
    static void copy(void const*, C const&...) {}
  };
};
struct SM90_TMA_LOAD_1D : SM90_TMA_LOAD {};
struct SM90_TMA_LOAD_2D : SM90_TMA_LOAD {};
struct SM90_TMA_LOAD_3D : SM90_TMA_LOAD {};
struct SM90_TMA_LOAD_4D : SM90_TMA_LOAD {};
struct SM90_TMA_LOAD_5D : SM90_TMA_LOAD {};

struct SM90_TMA_LOAD_MULTICAST {
  template <class... C>
  static void copy(void const* descriptor, uint64_t* barrier, uint16_t blocks, uint64_t,
                   void* shared, C const&... corner) {
    cutegen_emu::load_box("a multicast TMA load", descriptor, barrier, blocks, shared,
                          int32_t(corner)...);
  }
  using PREFETCH = SM90_TMA_LOAD::PREFETCH;
};
struct SM90_TMA_LOAD_MULTICAST_1D : SM90_TMA_LOAD_MULTICAST {};
struct SM90_TMA_LOAD_MULTICAST_2D : SM90_TMA_LOAD_MULTICAST {};
struct SM90_TMA_LOAD_MULTICAST_3D : SM90_TMA_LOAD_MULTICAST {};
struct SM90_TMA_LOAD_MULTICAST_4D : SM90_TMA_LOAD_MULTICAST {};
struct SM90_TMA_LOAD_MULTICAST_5D : SM90_TMA_LOAD_MULTICAST {};

struct SM90_TMA_STORE {
  template <class... C>
  static void copy(void const* descriptor, void const* shared, C const&... corner) {
    cutegen_emu::store_box("a TMA store", cutegen_emu::Reduction::kNone, descriptor, shared,
                           int32_t(corner)...);
  }
};
struct SM90_TMA_STORE_1D : SM90_TMA_STORE {};
struct SM90_TMA_STORE_2D : SM90_TMA_STORE {};
struct SM90_TMA_STORE_3D : SM90_TMA_STORE {};
struct SM90_TMA_STORE_4D : SM90_TMA_STORE {};
struct SM90_TMA_STORE_5D : SM90_TMA_STORE {};

struct SM90_TMA_REDUCE_ADD {
  template <class... C>
  static void copy(void const* descriptor, void const* shared, C const&... corner) {
    cutegen_emu::store_box("a TMA reduction", cutegen_emu::Reduction::kAdd, descriptor, shared,
                           int32_t(corner)...);
  }
};
struct SM90_TMA_REDUCE_ADD_1D : SM90_TMA_REDUCE_ADD {};
struct SM90_TMA_REDUCE_ADD_2D : SM90_TMA_REDUCE_ADD {};
struct SM90_TMA_REDUCE_ADD_3D : SM90_TMA_REDUCE_ADD {};
struct SM90_TMA_REDUCE_ADD_4D : SM90_TMA_REDUCE_ADD {};
struct SM90_TMA_REDUCE_ADD_5D : SM90_TMA_REDUCE_ADD {};

struct SM90_BULK_COPY_G2S {
  static void copy(void const* global, uint64_t* barrier, void* shared, int32_t bytes) {
    cutegen_emu::Copy copy = cutegen_emu::plain_copy("a bulk load", global, shared, bytes);
    copy.barrier = barrier;
    copy.blocks = uint16_t(1u << block_rank_in_cluster());
    cutegen_emu::order_load(copy);
  }
  struct PREFETCH {
    static void copy(void const*, int32_t) {}
  };
};

struct SM90_BULK_COPY_S2G {
  static void copy(void const* shared, void* global, int32_t bytes) {
    cutegen_emu::order_store(cutegen_emu::plain_copy("a bulk store", global, shared, bytes));
  }
};

struct SM90_BULK_COPY_AUTO {};

// Convolutions have their own way to name a box. CuTe's traits want the names.
struct SM90_TMA_LOAD_IM2COL {
  template <class... C>
  static void copy(C const&...) {
    cutegen_emu::refuse_im2col();
  }
  struct PREFETCH {
    template <class... C>
    static void copy(C const&...) {}
  };
};
struct SM90_TMA_LOAD_IM2COL_MULTICAST : SM90_TMA_LOAD_IM2COL {};
struct SM90_TMA_STORE_IM2COL : SM90_TMA_LOAD_IM2COL {};

inline void tma_store_fence() {}
inline void tma_store_arrive() { cutegen_emu::commit_stores(); }
inline void tma_desc_commit_group() { cutegen_emu::commit_stores(); }
template <int Count>
inline void tma_store_wait() {
  cutegen_emu::wait_for_stores(Count);
}
inline void tma_desc_wait_group() { cutegen_emu::wait_for_stores(0); }

}  // namespace cute
