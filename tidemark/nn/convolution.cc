#include "tidemark/nn/convolution.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/trace/trace.h"

namespace tidemark::nn {
namespace {

Dims per_dimension(const IntList& given, int dimensions, std::int64_t otherwise, std::string_view name,
                   SourceLine where) {
  if (given.empty()) return Dims::filled(dimensions, otherwise);
  if (given.size() == 1) return Dims::filled(dimensions, given[0]);
  if (static_cast<int>(given.size()) == dimensions) return Dims(std::span<const std::int64_t>(given));
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("a convolution of {} dimensions with {} numbers for its {}", dimensions,
                            given.size(), name),
        .expected = fmt::format("{}, 1 or none", dimensions),
        .where = where});
}

ConvAttrs conv_attrs(const ConvolutionOptions& options, int dimensions, SourceLine where) {
  const Dims padding = per_dimension(options.padding, dimensions, 0, "padding", where);
  return {.stride = per_dimension(options.stride, dimensions, 1, "stride", where),
          .low = padding,
          .high = padding,
          .dilation = per_dimension(options.dilation, dimensions, 1, "dilation", where),
          .groups = options.groups};
}

// (first, second / groups, kernel…), of variance gain / (numbers that an output sees).
Tensor kernel_weights(const Operand& key, std::int64_t first, std::int64_t second, const Dims& kernel,
                      const ConvolutionOptions& options) {
  if (options.groups < 1 || first % options.groups != 0 || second % options.groups != 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("a convolution of {} and {} channels in {} groups",
                                                        first, second, options.groups),
                                    .expected = "a number of groups that divides both",
                                    .where = key.where()});
  }
  Dims shape{first, second / options.groups};
  for (const std::int64_t size : kernel) shape.push_back(size);
  double seen = static_cast<double>(second / options.groups);
  for (const std::int64_t size : kernel) seen *= static_cast<double>(size);
  return random_normal(key, Shape(shape), 0, std::sqrt(2 / seen));
}

std::vector<Tensor> zero_bias(std::int64_t out, const ConvolutionOptions& options) {
  if (!options.bias) return {};
  return {zeros({out})};
}

Tensor with_bias(const Tensor& y, const std::vector<Tensor>& bias) {
  if (bias.empty()) return y;
  Dims shape{-1};
  for (int i = 2; i < y.rank(); ++i) shape.push_back(1);
  return y + reshape(bias[0], Shape(shape));
}

void check_rank(const Operand& x, const Tensor& weight) {
  if (x.tensor().rank() == weight.rank()) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("a convolution of {} with weights {}", to_string(x.tensor().type()),
                            to_string(weight.type())),
        .expected = fmt::format("x (N, channels and {} spatial dimensions)", weight.rank() - 2),
        .where = x.where()});
}

}  // namespace

Convolution Convolution::init(const Tensor& key, std::int64_t in, std::int64_t out, const Dims& kernel,
                              const ConvolutionOptions& options, SourceLine where) {
  const CallSite site(where);
  return {kernel_weights({key, where}, out, in, kernel, options), zero_bias(out, options), options};
}
Tensor Convolution::operator()(const Operand& x) const {
  const CallSite site(x.where());
  check_rank(x, weight);
  return with_bias(conv(x, weight, conv_attrs(options, weight.rank() - 2, x.where())), bias);
}

TransposedConvolution TransposedConvolution::init(const Tensor& key, std::int64_t in, std::int64_t out,
                                                  const Dims& kernel, const ConvolutionOptions& options,
                                                  SourceLine where) {
  const CallSite site(where);
  return {kernel_weights({key, where}, in, out, kernel, options), zero_bias(out, options), options};
}
Tensor TransposedConvolution::operator()(const Operand& x) const {
  const CallSite site(x.where());
  check_rank(x, weight);
  const int dimensions = weight.rank() - 2;
  const ConvAttrs attrs = conv_attrs(options, dimensions, x.where());
  const Dims further = per_dimension(options.output_padding, dimensions, 0, "output_padding", x.where());
  Dims size;
  for (int i = 0; i < dimensions; ++i) {
    if (further[i] < 0 || further[i] >= attrs.stride[i]) {
      fail(ErrorCode::bad_attribute, {.what = fmt::format("an output_padding of {}", further[i]),
                                      .expected = "0 or more, and less than the stride",
                                      .where = x.where()});
    }
    size.push_back((x.tensor().size(i + 2) - 1) * attrs.stride[i] - 2 * attrs.low[i] +
                   attrs.dilation[i] * (weight.size(i + 2) - 1) + further[i] + 1);
  }
  const Tensor wide = build({x, weight}, [&](Builder&, std::span<const Var> v) {
    return conv_input_grad(v[0], v[1], size, attrs);
  });
  return with_bias(wide, bias);
}

}  // namespace tidemark::nn
