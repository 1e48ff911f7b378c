#include "tidemark/nn/rotary.h"

#include <cmath>

namespace tidemark::nn {

Rotary Rotary::of(std::int64_t length, std::int64_t head_width, DType dtype) {
  const std::int64_t pairs = head_width / 2;
  const Tensor frequency = exp(arange(pairs, DType::f32) * (-std::log(10000.0) / static_cast<double>(pairs)));
  const Tensor angle = reshape(arange(length, DType::f32), {length, 1}) * frequency;  // (T, D/2)
  return {cast(cos(angle), dtype), cast(sin(angle), dtype)};
}
Rotary Rotary::at(const Tensor& positions) const {
  const Tensor own = take(cosine, positions, 0);
  return {own, take(sine, positions, 0)};
}
Tensor Rotary::operator()(const Tensor& x) const {
  const std::vector<Tensor> half = split_evenly(x, -1, 2);
  const Tensor own = half[0] * cosine, turned = own - half[1] * sine;
  const Tensor other = half[1] * cosine, turned_other = other + half[0] * sine;
  return concat({turned, turned_other}, -1);
}

}  // namespace tidemark::nn
