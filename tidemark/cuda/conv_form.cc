#include "tidemark/cuda/conv_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/convolution/conv_last.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

// What algorithms of cuDNN use to cut long sums into parts, or to bring operands into the order that they
// like. More is rarely faster, and is memory that the plan has for nothing else meanwhile.
constexpr std::int64_t most_conv_workspace = std::int64_t{128} << 20;

ConvTensor tensor_of(const Shape& shape, bool channels_last) {
  const Strides dense = dense_strides(shape);
  const int spatial = shape.rank() - 2, first = channels_last ? 1 : 2;
  ConvTensor tensor;
  const int channel = channels_last ? shape.rank() - 1 : 1;
  tensor.size[0] = shape[0], tensor.size[1] = shape[channel];
  tensor.stride[0] = dense[0], tensor.stride[1] = dense[channel];
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<std::size_t>(d + 2);
    const int own = d - (3 - spatial);
    tensor.size[i] = own < 0 ? 1 : shape[first + own];
    // Of a dimension that is not there: as if it were the slowest of those that are.
    tensor.stride[i] = own < 0 ? dense[first] * shape[first] : dense[first + own];
  }
  return tensor;
}

struct Kind {
  ConvPart part;
  bool channels_last;
};
std::optional<Kind> kind_of(const Op& op) {
  if (&op == &op::conv) return Kind{ConvPart::forward, false};
  if (&op == &op::conv_input_grad) return Kind{ConvPart::input_grad, false};
  if (&op == &op::conv_weight_grad) return Kind{ConvPart::weight_grad, false};
  if (&op == &op::conv_last) return Kind{ConvPart::forward, true};
  if (&op == &op::conv_last_input_grad) return Kind{ConvPart::input_grad, true};
  if (&op == &op::conv_last_weight_grad) return Kind{ConvPart::weight_grad, true};
  return std::nullopt;
}

// With as much padding behind as before, are there as many outputs? Then it means the same.
bool is_even(const ConvForm& form) {
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t reach = form.dilation[d] * (form.w.size[d + 2] - 1) + 1;
    if ((form.x.size[d + 2] + 2 * form.low[d] - reach) / form.stride[d] + 1 != form.y.size[d + 2])
      return false;
  }
  return true;
}

}  // namespace

std::int64_t ConvTensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t s : size) product *= s;
  return product;
}

std::optional<ConvForm> conv_form(const Call& call) {
  const std::optional<Kind> kind = kind_of(*call.op);
  if (!kind) return std::nullopt;
  const ConvAttrs attrs = kind->part == ConvPart::forward ? call.attrs_as<ConvAttrs>()
                                                          : without_size(call.attrs_as<ConvGradAttrs>());
  ConvForm form{.part = kind->part,
                .dtype = call.in[0].dtype,
                .channels_last = kind->channels_last,
                .groups = attrs.groups,
                .spatial = call.in[0].rank() - 2};
  const Shape &a = call.in[0].shape, &b = call.in[1].shape, &result = call.out[0].shape;
  const Shape& x = form.part == ConvPart::input_grad ? result : a;
  const Shape& w = form.part == ConvPart::weight_grad ? result : b;
  const Shape& y = form.part == ConvPart::forward ? result : form.part == ConvPart::input_grad ? a : b;
  form.x = tensor_of(x, form.channels_last);
  form.w = tensor_of(w, form.channels_last);
  form.y = tensor_of(y, form.channels_last);
  for (int d = 0; d < form.spatial; ++d) {
    const auto i = static_cast<std::size_t>(d + 3 - form.spatial);
    form.stride[i] = attrs.stride[d], form.dilation[i] = attrs.dilation[d];
    form.low[i] = attrs.low[d], form.high[i] = attrs.high[d];
  }
  const std::int64_t bytes = (form.x.count() + form.w.count() + form.y.count()) * size_of(form.dtype);
  if (form.dtype != DType::f64)
    form.workspace_bytes = std::min(most_conv_workspace, align_up(4 * bytes, 256));
  return form;
}

// Gradients of the weights in three dimensions and 16 bits, with more padding on one side, came out wrong on
// an H200 (cuDNN of PyTorch 2.11): neither is left to the library.
bool may_go_to_library(const ConvForm& form) {
  const bool is_empty = form.x.count() == 0 || form.w.count() == 0 || form.y.count() == 0;
  const bool is_narrow = form.dtype == DType::bf16 || form.dtype == DType::f16;
  return form.dtype != DType::f64 && !is_empty && is_even(form) &&
         !(is_narrow && form.part == ConvPart::weight_grad && form.spatial == 3);
}

std::string key_of(const ConvForm& form) {
  const auto text = [](const ConvTensor& t) {
    return fmt::format("({}) by ({})", fmt::join(t.size, ", "), fmt::join(t.stride, ", "));
  };
  return fmt::format("convolution {} of {}, {} groups, {} dimensions: {} {} {}, {}; {}; {}; {}, {} bytes",
                     static_cast<int>(form.part), name_of(form.dtype), form.groups, form.spatial,
                     text(form.x), text(form.w), text(form.y), fmt::join(form.stride, ", "),
                     fmt::join(form.low, ", "), fmt::join(form.high, ", "), fmt::join(form.dilation, ", "),
                     form.workspace_bytes);
}

}  // namespace tidemark::cuda
