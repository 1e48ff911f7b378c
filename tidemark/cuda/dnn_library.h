// cuDNN, NVIDIA's library of convolutions, opened when it is first asked for, and descriptions, which is what
// one tells it everything by.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "tidemark/base/result.h"

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

}  // namespace tidemark::cuda

#endif
