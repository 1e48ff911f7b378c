#include "tidemark/nn/layers.h"

#include <cmath>

namespace tidemark::nn {

Linear Linear::init(const Tensor& key, std::int64_t in, std::int64_t out) {
  // Variance 1/in keeps activations at the scale of the input.
  return {random_normal(key, {in, out}, 0, 1 / std::sqrt(static_cast<double>(in))), zeros({out})};
}
Tensor Linear::operator()(const Operand& x) const { return matmul(x, Operand(weight, x.where())) + bias; }

LayerNorm LayerNorm::init(std::int64_t width) { return {ones({width}), zeros({width})}; }
Tensor LayerNorm::operator()(const Operand& x) const { return layer_norm(x, gain, bias); }

Conv2d Conv2d::init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  const double fan_in = static_cast<double>(in * kernel * kernel);
  return {random_normal(key, {out, in, kernel, kernel}, 0, std::sqrt(2 / fan_in)), zeros({out})};
}
Tensor Conv2d::operator()(const Operand& x, std::int64_t stride) const {
  const std::int64_t kernel = weight.size(-1), pad = (kernel - 1) / 2;
  const ConvAttrs attrs{
      .stride = {stride, stride}, .low = {pad, pad}, .high = {pad, pad}, .dilation = {1, 1}, .groups = 1};
  return conv(x, weight, attrs) + reshape(bias, {-1, 1, 1});
}

BatchNorm2d BatchNorm2d::init(std::int64_t channels) { return {ones({channels}), zeros({channels})}; }
Tensor BatchNorm2d::operator()(const Operand& x) const { return batch_norm(x, gain, bias).y; }

SelfAttention SelfAttention::init(const Tensor& key, std::int64_t width) {
  const std::vector<Tensor> keys = split_key(key, 2);
  return {Linear::init(keys[0], width, 3 * width), Linear::init(keys[1], width, width)};
}
Tensor SelfAttention::operator()(const Tensor& x, std::int64_t heads, bool causal) const {
  const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  std::vector<Tensor> parts = split_evenly(qkv(x), -1, 3);
  for (Tensor& part : parts) {  // (B, T, width) → (B, heads, T, width / heads)
    part = transpose(reshape(part, {batch, length, heads, width / heads}), {0, 2, 1, 3});
  }
  const Tensor mixed = attention(parts[0], parts[1], parts[2], AttentionAttrs{.causal = causal, .scale = 0});
  return out(reshape(transpose(mixed, {0, 2, 1, 3}), {batch, length, width}));
}

}  // namespace tidemark::nn
