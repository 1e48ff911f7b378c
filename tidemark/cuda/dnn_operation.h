// A convolution as cuDNN sees it: descriptions of its tensors, its windows and the operation, and the graph
// of that one operation, of which the library knows engines.
#pragma once
#include "tidemark/cuda/conv_form.h"
#include "tidemark/cuda/dnn_library.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {

inline constexpr std::int64_t dnn_x_id = 1, dnn_w_id = 2, dnn_y_id = 3;  // of tensors, when one is run

struct DnnOperation {
  // At addresses that are multiples of so many bytes.
  DnnOperation(const DnnFunctions& functions, cudnnHandle_t handle, const ConvForm& form,
               std::int64_t alignment);
  bool good() const { return operation.good() && graph.good(); }

  DnnDescription x, w, y, windows, operation, graph;
};

}  // namespace tidemark::cuda

#endif
