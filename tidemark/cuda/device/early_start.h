// Kernels begin early: on GPUs from 9.0 on, the blocks of the next kernel are brought to the processors while the
// last ones of this kernel still run ("programmatic dependent launch"), which hides most of what lies between two
// kernels. So every kernel waits, before it touches memory, for those that it follows; the launch asks for it
// (KernelSet::put). Since a kernel ends only after it has waited, whoever has waited for it is behind all that it
// followed, too.
#pragma once

namespace tidemark::cuda {

#ifdef __CUDACC_RTC__
__device__ inline void await_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  // The next one may come from now on: it waits in its turn.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#else
inline void await_earlier_kernels() {}  // on the host kernels run one after the other
#endif

}  // namespace tidemark::cuda
