#include "tidemark/cuda/dnn_operation.h"

#include <vector>

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

cudnnDataType_t dnn_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// The library wants two spatial dimensions at least.
int first_spatial(const ConvForm& form) { return form.spatial == 3 ? 0 : 1; }

DnnDescription described_tensor(const DnnFunctions& f, const ConvForm& form, const ConvTensor& of,
                                std::int64_t id, std::int64_t alignment) {
  std::vector<std::int64_t> sizes = {of.size[0], of.size[1]}, strides = {of.stride[0], of.stride[1]};
  for (int d = first_spatial(form); d < 3; ++d) {
    sizes.push_back(of.size[static_cast<std::size_t>(d + 2)]);
    strides.push_back(of.stride[static_cast<std::size_t>(d + 2)]);
  }
  const cudnnDataType_t type = dnn_type(form.dtype);
  DnnDescription made(f, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::ssize(sizes), sizes.data())
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::ssize(strides), strides.data())
      .set_one(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set_one(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .finalize();
  return made;
}

DnnDescription described_windows(const DnnFunctions& f, const ConvForm& form) {
  const auto first = static_cast<std::size_t>(first_spatial(form));
  const auto count = static_cast<std::int64_t>(3 - first);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  DnnDescription made(f, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set_one(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, count)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, count, form.dilation.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, count, form.stride.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, count, form.low.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, count, form.low.data() + first)
      .finalize();
  return made;
}

// The names of a part's attributes.
struct PartNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, windows, alpha, beta;
};
PartNames names_of(ConvPart part) {
  switch (part) {
    case ConvPart::input_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPart::weight_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

}  // namespace

DnnOperation::DnnOperation(const DnnFunctions& functions, cudnnHandle_t handle, const ConvForm& form,
                           std::int64_t alignment)
    : x(described_tensor(functions, form, form.x, dnn_x_id, alignment)),
      w(described_tensor(functions, form, form.w, dnn_w_id, alignment)),
      y(described_tensor(functions, form, form.y, dnn_y_id, alignment)),
      windows(described_windows(functions, form)),
      operation(functions, names_of(form.part).operation),
      graph(functions, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const PartNames names = names_of(form.part);
  const float one = 1, zero = 0;
  operation.set_part(names.x, x)
      .set_part(names.w, w)
      .set_part(names.y, y)
      .set_part(names.windows, windows)
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one)
      .set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero)
      .finalize();
  graph.set_part(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
      .finalize();
}

}  // namespace tidemark::cuda

#endif
