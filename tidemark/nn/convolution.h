// Convolutions over 1, 2 or 3 spatial dimensions, and transposed ones, with every setting. Conv2d (layers.h)
// is the short form that keeps the size of images.
#pragma once
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

// Each list has one number per spatial dimension, one number for all of them, or none: then 1, and no
// padding.
struct ConvolutionOptions {
  IntList stride = {}, padding = {}, dilation = {};
  IntList output_padding = {};  // transposed convolutions alone: so much larger at the far ends
  std::int64_t groups = 1;      // channels of a group see only those of the same group
  bool bias = true;
  TM_FIELDS(ConvolutionOptions, stride, padding, dilation, output_padding, groups, bias)
};

struct Convolution {
  Tensor weight;             // (out, in/groups, kernel…)
  std::vector<Tensor> bias;  // one (out), or none
  ConvolutionOptions options;
  TM_FIELDS(Convolution, weight, bias, options)

  // `kernel` has as many sizes as there are spatial dimensions.
  static Convolution init(const Tensor& key, std::int64_t in, std::int64_t out, const Dims& kernel,
                          const ConvolutionOptions& options = {},
                          SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (N, in, S…) → (N, out, P…)
};

// What turns the gradient of a convolution's result into that of its input, as a layer that enlarges.
struct TransposedConvolution {
  Tensor weight;             // (in, out/groups, kernel…)
  std::vector<Tensor> bias;  // one (out), or none
  ConvolutionOptions options;
  TM_FIELDS(TransposedConvolution, weight, bias, options)

  static TransposedConvolution init(const Tensor& key, std::int64_t in, std::int64_t out, const Dims& kernel,
                                    const ConvolutionOptions& options = {},
                                    SourceLine where = std::source_location::current());
  // (N, in, P…) → (N, out, S…), S = (P - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
  Tensor operator()(const Operand& x) const;
};

}  // namespace tidemark::nn
