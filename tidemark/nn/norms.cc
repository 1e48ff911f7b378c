#include "tidemark/nn/norms.h"

namespace tidemark::nn {

LayerNorm LayerNorm::init(std::int64_t width) { return {ones({width}), zeros({width})}; }
Tensor LayerNorm::operator()(const Operand& x) const { return layer_norm(x, gain, bias); }

RmsNorm RmsNorm::init(std::int64_t width) { return {ones({width})}; }
Tensor RmsNorm::operator()(const Operand& x) const { return rms_norm(x, gain); }

GroupNorm GroupNorm::init(std::int64_t channels, std::int64_t groups) {
  return {ones({channels}), zeros({channels}), groups};
}
Tensor GroupNorm::operator()(const Operand& x) const { return group_norm(x, gain, bias, groups); }

InstanceNorm InstanceNorm::init(std::int64_t channels) { return {ones({channels}), zeros({channels})}; }
Tensor InstanceNorm::operator()(const Operand& x) const { return group_norm(x, gain, bias, gain.size(0)); }

}  // namespace tidemark::nn
