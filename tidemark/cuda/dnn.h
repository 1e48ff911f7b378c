// cuDNN, NVIDIA's library of convolutions, opened when it is first asked for. Where it is not, or takes a
// convolution not at all or not within the workspace of the plan, a kernel of ours runs
// (device/convolution.h). An engine is chosen once for each form: what timing has found (product_choices.h),
// else the first of the library's own advice; none that adds up in the order of arrival, none that rounds f32
// operands or sums, so the same form gives the same bits in every run and at every budget.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/result.h"
#include "tidemark/cuda/context.h"
#include "tidemark/cuda/conv_form.h"
#include "tidemark/cuda/product_choices.h"

#ifdef TIDEMARK_HAS_CUDNN
#include <cudnn_graph.h>

// Name here, symbol of the library.
#define TM_DNN_FUNCTIONS(F)              \
  F(create, cudnnCreate)                 \
  F(destroy, cudnnDestroy)               \
  F(set_stream, cudnnSetStream)          \
  F(status_text, cudnnGetErrorString)    \
  F(version, cudnnGetVersion)            \
  F(make, cudnnBackendCreateDescriptor)  \
  F(drop, cudnnBackendDestroyDescriptor) \
  F(finalize, cudnnBackendFinalize)      \
  F(set, cudnnBackendSetAttribute)       \
  F(get, cudnnBackendGetAttribute)       \
  F(execute, cudnnBackendExecute)

namespace tidemark::cuda {

struct DnnFunctions {
#define TM_MEMBER(name, symbol) decltype(&::symbol) name = nullptr;
  TM_DNN_FUNCTIONS(TM_MEMBER)
#undef TM_MEMBER
};

const Result<DnnFunctions, std::string>& dnn_functions();

// A description of the library's, given back by its owner.
class DnnDescription {
 public:
  DnnDescription() = default;
  DnnDescription(const DnnFunctions& functions, cudnnBackendDescriptorType_t type);
  ~DnnDescription();
  DnnDescription(DnnDescription&& other) noexcept { swap(other); }
  DnnDescription& operator=(DnnDescription&& other) noexcept {
    swap(other);
    return *this;
  }

  explicit operator bool() const { return made_ != nullptr; }
  cudnnBackendDescriptor_t get() const { return made_; }
  // Whether all that was asked of it went well.
  bool good() const { return made_ && status_ == CUDNN_STATUS_SUCCESS; }

  DnnDescription& set(cudnnBackendAttributeName_t which, cudnnBackendAttributeType_t type, std::int64_t count,
                      const void* values);
  DnnDescription& set_one(cudnnBackendAttributeName_t which, std::int64_t value) {
    return set(which, CUDNN_TYPE_INT64, 1, &value);
  }
  DnnDescription& set_part(cudnnBackendAttributeName_t which, const DnnDescription& part) {
    const cudnnBackendDescriptor_t descriptor = part.get();
    return set(which, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
  }
  DnnDescription& finalize();

 private:
  void swap(DnnDescription& other) noexcept {
    std::swap(functions_, other.functions_);
    std::swap(made_, other.made_);
    std::swap(status_, other.status_);
  }
  const DnnFunctions* functions_ = nullptr;
  cudnnBackendDescriptor_t made_ = nullptr;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

// The library for one stream, and the engines that were chosen for it.
class Dnn {
 public:
  // None where there is no library.
  static std::unique_ptr<Dnn> open(const Stream& stream);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  // An engine for convolutions of this form, at addresses that are multiples of so many bytes. Null: none
  // fits. Those of `timed_alignment` are timed where the user asks for it, so nothing may be recorded then.
  static constexpr std::int64_t timed_alignment = 16;
  struct Engine {
    DnnDescription plan;
  };
  const Engine* engine(const ConvForm& form, std::int64_t alignment);
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
