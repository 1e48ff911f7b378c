#include "tidemark/nn/layers.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/trace/trace.h"

namespace tidemark::nn {
namespace {

Tensor kernel_init(const Operand& key, const Shape& shape) {  // variance 2 / fan in (He et al. 2015)
  const double fan_in = static_cast<double>(shape[1] * shape[2] * shape[3]);
  return random_normal(key, shape, 0, std::sqrt(2 / fan_in));
}

// Padding that keeps the size at stride 1, for odd kernels.
ConvAttrs same_size(std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
  const std::int64_t pad = (kernel - 1) / 2;
  return {.stride = {stride, stride},
          .low = {pad, pad},
          .high = {pad, pad},
          .dilation = {1, 1},
          .groups = groups};
}

void check_images(const Operand& x, const Tensor& weight, std::int64_t groups) {
  const Tensor& images = x.tensor();
  const std::int64_t channels = weight.size(1) * groups;
  if (images.rank() == 4 && images.size(1) == channels) return;
  const auto counted = [](std::int64_t n) { return fmt::format("{} channel{}", n, n == 1 ? "" : "s"); };
  const std::string given = images.rank() == 4 ? fmt::format(", {}", counted(images.size(1))) : "";
  fail(ErrorCode::shape_mismatch, {.what = fmt::format("a convolution of {} over {}{}", counted(channels),
                                                       to_string(images.type()), given),
                                   .expected = fmt::format("images (N, {}, H, W)", channels),
                                   .where = x.where()});
}

Tensor per_channel(const Tensor& bias) { return reshape(bias, {-1, 1, 1}); }

}  // namespace

Linear Linear::init(const Tensor& key, std::int64_t in, std::int64_t out, SourceLine where) {
  // Variance 1/in keeps activations at the scale of the input.
  const double deviation = 1 / std::sqrt(static_cast<double>(in));
  return {random_normal({key, where}, {in, out}, 0, deviation), zeros({out}, DType::f32, where)};
}
Tensor Linear::operator()(const Operand& x) const {
  const CallSite site(x.where());
  return Operand(matmul(x, Operand(weight, x.where())), x.where()) + bias;
}

Conv2d Conv2d::init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                    SourceLine where) {
  return {kernel_init({key, where}, {out, in, kernel, kernel}), zeros({out}, DType::f32, where)};
}
Tensor Conv2d::operator()(const Operand& x, std::int64_t stride) const {
  const CallSite site(x.where());
  check_images(x, weight, 1);
  const Tensor y = conv(x, weight, same_size(weight.size(-1), stride, 1));
  return y + per_channel(bias);
}

ConvNorm ConvNorm::init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        std::int64_t stride, std::int64_t groups, SourceLine where) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a convolution of {} and {} channels in {} groups", in, out, groups),
          .expected = "a number of groups that divides both",
          .where = where});
  }
  return {kernel_init({key, where}, {out, in / groups, kernel, kernel}), BatchNorm2d::init(out, where),
          stride, groups};
}
Tensor ConvNorm::operator()(const Operand& x) const {
  NormPass batch;
  return (*this)(x, batch);
}
Tensor ConvNorm::operator()(const Operand& x, NormPass& pass) const {
  const CallSite site(x.where());
  check_images(x, weight, groups);
  const Tensor y = conv(x, weight, same_size(weight.size(-1), stride, groups));
  return pass(norm, {y, x.where()});
}

UpConv2d UpConv2d::init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        SourceLine where) {
  const CallSite site(where);
  const double deviation = std::sqrt(1 / static_cast<double>(in));  // each output pixel sees `in` numbers
  return {random_normal({key, where}, {in, out, kernel, kernel}, 0, deviation),
          zeros({out}, DType::f32, where)};
}
Tensor UpConv2d::operator()(const Operand& x) const {
  const CallSite site(x.where());
  const std::int64_t kernel = weight.size(-1);
  const ConvAttrs attrs{
      .stride = {kernel, kernel}, .low = {0, 0}, .high = {0, 0}, .dilation = {1, 1}, .groups = 1};
  const Dims size{kernel * x.tensor().size(2), kernel * x.tensor().size(3)};
  const Tensor wide = build({x, weight}, [&](Builder&, std::span<const Var> v) {
    return conv_input_grad(v[0], v[1], size, attrs);
  });
  return wide + per_channel(bias);
}

Dropout Dropout::use(std::int64_t number, SourceLine where) const {
  const CallSite site(where);
  return rate == 0 ? *this : Dropout{rate, fold_in(key, number)};
}
Tensor Dropout::operator()(const Operand& x) const { return rate == 0 ? x.tensor() : dropout(x, rate, key); }

SelfAttention SelfAttention::init(const Tensor& key, std::int64_t width, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key({key, where}, 2);
  return {Linear::init(keys[0], width, 3 * width, where), Linear::init(keys[1], width, width, where)};
}
std::vector<Tensor> SelfAttention::queries_keys_values(const Operand& x, std::int64_t heads) const {
  check_sequence("self-attention", x, qkv.weight.size(0));
  check_heads(qkv.weight.size(0), heads, heads, x.where());
  // Heads are told apart before q, k and v are, and merged by the product that follows: so all of it is
  // views.
  const std::int64_t batch = x.tensor().size(0), length = x.tensor().size(1), width = x.tensor().size(2),
                     each = width / heads;
  std::vector<Tensor> parts = split_evenly(reshape(qkv(x.tensor()), {batch, length, 3, heads, each}), 2, 3);
  for (Tensor& part : parts) {  // (B, T, 1, heads, each) → (B, heads, T, each)
    part = transpose(reshape(part, {batch, length, heads, each}), {0, 2, 1, 3});
  }
  return parts;
}
Tensor SelfAttention::merged(const Tensor& mixed) const {
  const std::int64_t heads = mixed.size(1), each = mixed.size(3);
  return einsum("bhtd,hdc->btc", {mixed, reshape(out.weight, {heads, each, out.weight.size(1)})}) + out.bias;
}
Tensor SelfAttention::operator()(const Operand& x, std::int64_t heads, bool causal,
                                 const Dropout& dropout) const {
  const CallSite site(x.where());
  const std::vector<Tensor> parts = queries_keys_values(x, heads);
  const AttentionAttrs attrs{.causal = causal, .scale = 0, .dropout = dropout.rate};
  return merged(dropout.rate == 0 ? attention(parts[0], parts[1], parts[2], attrs)
                                  : attention(parts[0], parts[1], parts[2], attrs, dropout.key));
}
std::pair<Tensor, KeyValueCache> SelfAttention::operator()(const Operand& x, std::int64_t heads,
                                                           const KeyValueCache& cache,
                                                           const Tensor& position) const {
  const CallSite site(x.where());
  const std::vector<Tensor> parts = queries_keys_values(x, heads);
  auto [mixed, next] = attend(parts[0], parts[1], parts[2], cache, position);
  return {merged(mixed), std::move(next)};
}

}  // namespace tidemark::nn
