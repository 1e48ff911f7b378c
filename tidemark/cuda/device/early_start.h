// Kernels begin early: on GPUs from 9.0 on the next kernel is set up while this one still runs ("programmatic
// dependent launch"), which hides much of what lies between two kernels. So every kernel waits, before it
// touches memory, until those that it follows have ended and what they wrote is there; the launch asks for it
// (KernelSet::put). Since a kernel ends only after it has waited, whoever has waited for it is behind all
// that it followed, too.
//
// No kernel lets the next one's blocks in before it ends (griddepcontrol.launch_dependents): on an H200 a
// training step and a wave took the same time with it, and an LSTM a quarter more. Blocks that come early
// crowd on the processors that have room, where two share what each could have alone.
#pragma once

namespace tidemark::cuda {

#ifdef __CUDACC_RTC__
__device__ inline void await_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#else
inline void await_earlier_kernels() {}  // on the host kernels run one after the other
#endif

}  // namespace tidemark::cuda
