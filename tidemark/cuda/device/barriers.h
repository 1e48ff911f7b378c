// Barriers in the block's memory (8.0 and above; waiting for one as here, 9.0): threads that bring something
// and threads that use it need not be at the same place. Only NVRTC sees this text.
#pragma once
#include "tidemark/cuda/device/warp.h"

namespace tidemark::cuda {

inline constexpr int barrier_bytes = 8;

inline void make_barrier(SharedPlace at, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
inline void arrive(SharedPlace at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
// Until a phase is over, the first of which is number 0; only the last one and that which goes on can be told
// apart.
inline void wait_for_phase(SharedPlace at, unsigned phase) {
  unsigned over = 0;
  do {
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.b32 %0, 1, 0, over;\n}"
        : "=r"(over)
        : "r"(at), "r"(phase & 1)
        : "memory");
  } while (!over);
}

// Copies of this thread since the last call are one group; until at most `pending` groups are under way.
inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
void wait_for_copies_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
// What this thread has written into the block's memory can be read by products of warpgroups.
inline void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace tidemark::cuda
