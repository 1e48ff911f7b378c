// How long something of a library takes on the GPU, on memory of its own: how algorithms are compared where
// the user asks for it (TIDEMARK_CUDA_TIMING). It takes memory beside any plan for a moment.
#pragma once
#include <functional>

#include "tidemark/cuda/context.h"
#include "tidemark/ir/type.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class TrialMemory {
 public:
  TrialMemory(const Context& context, std::int64_t bytes)
      : context_(context), memory_(context.allocate(bytes)) {}
  ~TrialMemory() { context_.release(memory_); }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  CUdeviceptr at() const { return memory_; }

 private:
  const Context& context_;
  const CUdeviceptr memory_;
};

// Random numbers of either sign between 1/2 and 1: a GPU is faster on zeros, which need less power.
void fill_with_numbers(const Stream& stream, CUdeviceptr at, std::int64_t bytes, DType dtype);

// Which of so many is the fastest (product_choices.h). `begin` puts one of them into the stream, or says that
// it does not run.
std::size_t fastest_in(const Stream& stream, std::size_t count,
                       const std::function<bool(std::size_t)>& begin);

}  // namespace tidemark::cuda

#endif
