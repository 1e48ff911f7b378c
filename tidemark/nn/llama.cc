#include "tidemark/nn/llama.h"

#include <cmath>

namespace tidemark::nn {
namespace {

Tensor matrix(const Tensor& key, std::int64_t in, std::int64_t out) {
  return random_normal(key, {in, out}, 0, 1 / std::sqrt(static_cast<double>(in)));
}

}  // namespace

RmsNorm RmsNorm::init(std::int64_t width) { return {ones({width})}; }
Tensor RmsNorm::operator()(const Operand& x) const { return rms_norm(x, gain); }

Rotary Rotary::of(std::int64_t length, std::int64_t head_width, DType dtype) {
  const std::int64_t pairs = head_width / 2;
  const Tensor frequency = exp(arange(pairs, DType::f32) * (-std::log(10000.0) / static_cast<double>(pairs)));
  const Tensor angle = reshape(arange(length, DType::f32), {length, 1}) * frequency;  // (T, D/2)
  return {cast(cos(angle), dtype), cast(sin(angle), dtype)};
}
Tensor Rotary::operator()(const Tensor& x) const {
  const std::vector<Tensor> half = split_evenly(x, -1, 2);
  const Tensor own = half[0] * cosine, turned = own - half[1] * sine;
  const Tensor other = half[1] * cosine, turned_other = other + half[0] * sine;
  return concat({turned, turned_other}, -1);
}

RotaryAttention RotaryAttention::init(const Tensor& key, std::int64_t width, std::int64_t heads,
                                      std::int64_t kv_heads) {
  const std::vector<Tensor> keys = split_key(key, 4);
  const std::int64_t kv_width = width / heads * kv_heads;
  return {matrix(keys[0], width, width),
          matrix(keys[1], width, width),
          matrix(keys[2], width, kv_width),
          matrix(keys[3], width, kv_width),
          heads,
          kv_heads};
}
Tensor RotaryAttention::operator()(const Tensor& x, const Rotary& rotary) const {
  const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  const auto split_heads = [&](const Tensor& y, std::int64_t count) {  // (B, T, H · D) → (B, H, T, D)
    return transpose(reshape(y, {batch, length, count, width / heads}), {0, 2, 1, 3});
  };
  const Tensor queries = rotary(split_heads(matmul(x, q), heads));
  const Tensor keys = rotary(split_heads(matmul(x, k), kv_heads));
  const Tensor values = split_heads(matmul(x, v), kv_heads);
  const Tensor mixed = tidemark::attention(queries, keys, values, AttentionAttrs{.causal = true, .scale = 0});
  return matmul(reshape(transpose(mixed, {0, 2, 1, 3}), {batch, length, width}), out);
}

SwiGlu SwiGlu::init(const Tensor& key, std::int64_t width, std::int64_t hidden) {
  const std::vector<Tensor> keys = split_key(key, 3);
  return {matrix(keys[0], width, hidden), matrix(keys[1], width, hidden), matrix(keys[2], hidden, width)};
}
Tensor SwiGlu::operator()(const Tensor& x) const {
  const Tensor opened = silu(matmul(x, gate));
  return matmul(opened * matmul(x, up), down);
}

LlamaBlock LlamaBlock::init(const Tensor& key, const LlamaConfig& config) {
  const std::vector<Tensor> keys = split_key(key, 2);
  return {RmsNorm::init(config.width), RmsNorm::init(config.width),
          RotaryAttention::init(keys[0], config.width, config.heads, config.kv_heads),
          SwiGlu::init(keys[1], config.width, config.hidden)};
}
Tensor LlamaBlock::operator()(const Tensor& x, const Rotary& rotary) const {
  const Tensor h = x + attention(norm1(x), rotary);
  return h + feed_forward(norm2(h));
}

Llama Llama::init(const Tensor& key, const LlamaConfig& config) {
  const std::vector<Tensor> keys = split_key(key, 3);
  Llama llama;
  llama.token_table = random_normal(keys[0], {config.vocabulary, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    llama.blocks.push_back(LlamaBlock::init(fold_in(keys[1], i), config));
  }
  llama.norm = RmsNorm::init(config.width);
  llama.head = matrix(keys[2], config.width, config.vocabulary);
  return llama;
}
Tensor Llama::hidden(const Tensor& tokens) const {
  Tensor h = embedding(token_table, tokens);  // (B, T, width)
  const std::int64_t head_width = h.size(-1) / blocks.front().attention.heads;
  const Rotary rotary = Rotary::of(tokens.size(-1), head_width, h.dtype());
  for (const LlamaBlock& block : blocks) h = block(h, rotary);
  return norm(h);
}
Tensor Llama::operator()(const Tensor& tokens) const { return matmul(hidden(tokens), head); }
Tensor Llama::loss(const Tensor& tokens, const Tensor& next) const {
  return linear_cross_entropy(hidden(tokens), head, next, {.columns = true});
}

}  // namespace tidemark::nn
