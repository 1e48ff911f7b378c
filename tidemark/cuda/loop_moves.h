// What loops and branches move on the GPU between runs of their regions, as their kernels, which the host
// runs, ask for it (FarMemory): copies, several of which become one kernel, clears, places that change hands,
// and values for the host.
#pragma once
#include <optional>

#include "tidemark/cuda/copy_batch.h"
#include "tidemark/cuda/failure_flags.h"
#include "tidemark/cuda/kernel_set.h"
#include "tidemark/cuda/recorder.h"
#include "tidemark/kernel/args.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

// Addresses of the GPU as kernels that the host runs see them, who never read there.
inline std::byte* far_pointer(CUdeviceptr at) { return reinterpret_cast<std::byte*>(at); }
inline CUdeviceptr far_address(const std::byte* at) { return reinterpret_cast<CUdeviceptr>(at); }

class LoopMoves {
 public:
  LoopMoves(const Stream& stream, Recorder& recorder, KernelSet& kernels)
      : stream_(stream), recorder_(recorder), kernels_(kernels) {}
  LoopMoves(const LoopMoves&) = delete;
  LoopMoves& operator=(const LoopMoves&) = delete;

  void add_kernels();  // before any are loaded; further times change nothing
  void set_flags(const FailureFlags& flags) { flags_ = &flags; }

  FarMemory far(std::byte* notes);  // `notes`: of the loop, on the host
  void copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes);
  void put_copies();  // before anything else of the loop
  void forget_copies() { copies_.clear(); }

 private:
  void clear(CUdeviceptr to, std::int64_t bytes);
  void swap(CUdeviceptr a, CUdeviceptr b, std::int64_t bytes);
  void fetch(std::byte* to, CUdeviceptr from, std::int64_t bytes);
  void put(CUdeviceptr to, const std::byte* from, std::int64_t bytes);

  const Stream& stream_;
  Recorder& recorder_;
  KernelSet& kernels_;
  const FailureFlags* flags_ = nullptr;
  std::optional<std::size_t> swap_kernel_, copies_kernel_;
  CopyBatch copies_ = {};  // that were asked for and are not put in
};

}  // namespace tidemark::cuda

#endif
