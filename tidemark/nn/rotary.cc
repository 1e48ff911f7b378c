#include "tidemark/nn/rotary.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

Rotary Rotary::of(std::int64_t length, std::int64_t head_width, DType dtype, SourceLine where) {
  const CallSite site(where);
  if (head_width < 2 || head_width % 2 != 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("rotary positions for heads of width {}", head_width),
                                    .expected = "an even width: numbers turn in pairs",
                                    .where = where,
                                    .help = "choose a width that is an even multiple of the heads"});
  }
  const std::int64_t pairs = head_width / 2;
  const Tensor frequency = exp(arange(pairs, DType::f32) * (-std::log(10000.0) / static_cast<double>(pairs)));
  const Tensor angle = reshape(arange(length, DType::f32), {length, 1}) * frequency;  // (T, D/2)
  return {cast(cos(angle), dtype), cast(sin(angle), dtype)};
}
Rotary Rotary::at(const Operand& positions) const {
  const CallSite site(positions.where());
  const Tensor own = take(cosine, positions.tensor(), 0);
  return {own, take(sine, positions.tensor(), 0)};
}
Tensor Rotary::operator()(const Operand& x) const {
  const CallSite site(x.where());
  const std::vector<Tensor> half = split_evenly(x.tensor(), -1, 2);
  const Tensor own = half[0] * cosine, turned = own - half[1] * sine;
  const Tensor other = half[1] * cosine, turned_other = other + half[0] * sine;
  return concat({turned, turned_other}, -1);
}

}  // namespace tidemark::nn
