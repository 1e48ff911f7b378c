#include "tidemark/nn/norms.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

LayerNorm LayerNorm::init(std::int64_t width, SourceLine where) {
  return {ones({width}, DType::f32, where), zeros({width}, DType::f32, where)};
}
Tensor LayerNorm::operator()(const Operand& x) const {
  const CallSite site(x.where());
  return layer_norm(x, gain, bias);
}

RmsNorm RmsNorm::init(std::int64_t width, SourceLine where) { return {ones({width}, DType::f32, where)}; }
Tensor RmsNorm::operator()(const Operand& x) const {
  const CallSite site(x.where());
  return rms_norm(x, gain);
}

GroupNorm GroupNorm::init(std::int64_t channels, std::int64_t groups, SourceLine where) {
  if (groups < 1 || channels % groups != 0) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a group norm of {} channels in {} groups", channels, groups),
          .expected = "a number of groups that divides the channels",
          .where = where});
  }
  return {ones({channels}, DType::f32, where), zeros({channels}, DType::f32, where), groups};
}
Tensor GroupNorm::operator()(const Operand& x) const {
  const CallSite site(x.where());
  return group_norm(x, gain, bias, groups);
}

InstanceNorm InstanceNorm::init(std::int64_t channels, SourceLine where) {
  return {ones({channels}, DType::f32, where), zeros({channels}, DType::f32, where)};
}
Tensor InstanceNorm::operator()(const Operand& x) const {
  const CallSite site(x.where());
  return group_norm(x, gain, bias, gain.size(0));
}

}  // namespace tidemark::nn
