// The generated kernels of a plan: written one after the other, compiled side by side, loaded once. Equal
// texts, launches included, are one kernel: the layers of a model share theirs.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/parallel.h"
#include "tidemark/cuda/context.h"
#include "tidemark/cuda/group_source.h"
#include "tidemark/cuda/kernel_cache.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class KernelSet {
 public:
  std::size_t add(KernelText kernel);                                       // its number
  void load(const Context& context, KernelCache& cache, ThreadPool& pool);  // those added so far

  const KernelText& text(std::size_t kernel) const { return kernels_[kernel].text; }
  // One launch after the other; `pointers` is a GroupPointers. Throws DeviceError.
  void put(std::size_t kernel, const void* pointers, const Stream& stream) const;
  std::size_t size() const { return kernels_.size(); }

 private:
  struct Kernel {
    KernelText text;
    std::shared_ptr<const std::string> binary;
    std::unique_ptr<LoadedModule> module;
    std::vector<CUfunction> functions;  // one for each launch
  };
  std::vector<Kernel> kernels_;
  std::map<std::string, std::size_t> by_text_;
};

}  // namespace tidemark::cuda

#endif
