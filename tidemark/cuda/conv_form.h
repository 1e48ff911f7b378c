// A convolution, or one of its gradients, as kernels see it: 1-D and 2-D as 3-D, every tensor with sizes and
// strides in the order N, C, spatial (weights: O, C of a group, taps), whichever order they lie in. Facts,
// cuDNN's descriptions and our own kernel read the same struct. Plain data: no library is needed to plan for
// it.
#pragma once
#include <array>
#include <compare>
#include <optional>
#include <string>

#include "tidemark/ir/op.h"
#include "tidemark/ops/convolution/conv_geometry.h"

namespace tidemark::cuda {

struct ConvTensor {
  std::array<std::int64_t, 5> size{1, 1, 1, 1, 1}, stride{};  // elements
  std::int64_t count() const;
  auto operator<=>(const ConvTensor&) const = default;
};

struct ConvForm {
  ConvPart part = ConvPart::forward;
  DType dtype = DType::f32;
  bool channels_last = false;
  std::int64_t groups = 1;
  int spatial = 1;  // dimensions, at the end of the three
  ConvTensor x = {}, w = {}, y = {};
  std::array<std::int64_t, 3> stride{1, 1, 1}, low{}, high{}, dilation{1, 1, 1};
  std::int64_t workspace_bytes = 0;  // that a library's algorithm may use

  auto operator<=>(const ConvForm&) const = default;
  std::int64_t group_in() const { return w.size[1]; }
  std::int64_t group_out() const { return w.size[0] / groups; }
};

// None: the call is no convolution.
std::optional<ConvForm> conv_form(const Call& call);

// May cuDNN compute it, if it has an engine for it? Else a kernel of ours does, whatever is installed.
bool may_go_to_library(const ConvForm& form);

// All that decides which engine computes it, and which is the fastest.
std::string key_of(const ConvForm& form);

}  // namespace tidemark::cuda
