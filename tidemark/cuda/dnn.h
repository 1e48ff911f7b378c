// Convolutions by cuDNN. Where it is not, or takes a convolution not at all or not within the workspace of
// the plan, a kernel of ours runs (device/convolution.h). An engine is chosen once for each form: what the
// plan records, what timing has found (product_choices.h), else the first of the library's own advice; none
// that adds up in the order of arrival, none that rounds f32 operands or sums, so the same form gives the
// same bits in every run and at every budget.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/cuda/context.h"
#include "tidemark/cuda/conv_form.h"
#include "tidemark/cuda/dnn_library.h"
#include "tidemark/cuda/engine_choice.h"
#include "tidemark/cuda/product_choices.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {

// The library for one stream, and the engines that were chosen for it.
class Dnn {
 public:
  // None where there is no library.
  static std::unique_ptr<Dnn> open(const Stream& stream);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  std::int64_t version() const { return static_cast<std::int64_t>(functions_.version()); }

  struct Engine {
    DnnDescription plan;
    EngineChoice choice = {};
  };
  // An engine for convolutions of this form, at addresses that are multiples of so many bytes. Null: none
  // fits. Those of `timed_alignment` are timed where the user asks for it, so nothing may be recorded then.
  static constexpr std::int64_t timed_alignment = 16;
  const Engine* engine(const ConvForm& form, std::int64_t alignment);
  // The one that a plan records, from now on what `engine` gives. Null: this library has none such, or not on
  // our terms.
  const Engine* recorded_engine(const ConvForm& form, std::int64_t alignment, const EngineChoice& choice);
  void put(const Engine& engine, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace) const;

 private:
  Dnn(const DnnFunctions& functions, const Stream& stream);
  // An engine of those that the library advises, and where it stands there.
  struct Candidate {
    std::unique_ptr<Engine> engine;
    ProductAlgorithm place = {};
  };
  std::unique_ptr<Engine> choose(const ConvForm& form, std::int64_t alignment) const;
  std::vector<Candidate> candidates(const ConvForm& form, std::int64_t alignment, std::size_t most,
                                    const ProductAlgorithm* place = nullptr) const;
  std::unique_ptr<Engine> made_ready(const ConvForm& form, const DnnDescription& configuration) const;
  std::size_t fastest_of(const ConvForm& form, const std::vector<Candidate>& list) const;
  cudnnStatus_t begin(const Engine& engine, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y,
                      CUdeviceptr workspace) const;

  const DnnFunctions& functions_;
  const Stream& stream_;
  const ProductChoices choices_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::pair<ConvForm, std::int64_t>, std::unique_ptr<Engine>> engines_;
};

}  // namespace tidemark::cuda

#endif
