// The convolutions of a plan that cuDNN computes, made ready: by the engines that the plan records, or by
// what is chosen here and noted, to be recorded. Where there is no library, or no engine, a kernel of ours
// runs, which is noted likewise: the same plan has the same bits with the library and without it, or does
// not run.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/base/source.h"
#include "tidemark/cuda/conv_form.h"
#include "tidemark/cuda/dnn.h"
#include "tidemark/cuda/plan_algorithms.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class Convolutions {
 public:
  explicit Convolutions(const Stream& stream) : stream_(stream) {}

  // A number to put it by; none: a kernel of ours computes it. Throws Error no_kernel where the plan records
  // what cannot be had here.
  std::optional<std::size_t> add(const ConvForm& form, PlanAlgorithms& algorithms);
  void put(std::size_t number, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace,
           SourceLine where);

 private:
  const Stream& stream_;
#ifdef TIDEMARK_HAS_CUDNN
  struct Ready {
    const Dnn::Engine* engine = nullptr;  // of addresses that are multiples of 16
    ConvForm form = {};
  };
  Dnn* library();  // null: there is none
  const Dnn::Engine* settled(const ConvForm& form, PlanAlgorithms& algorithms);

  std::unique_ptr<Dnn> dnn_ = {};
  bool asked_ = false;
  std::vector<Ready> ready_ = {};
#endif
};

}  // namespace tidemark::cuda

#endif
