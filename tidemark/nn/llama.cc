#include "tidemark/nn/llama.h"

#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {
namespace {

Tensor matrix(const Tensor& key, std::int64_t in, std::int64_t out) {
  return random_normal(key, {in, out}, 0, 1 / std::sqrt(static_cast<double>(in)));
}

}  // namespace

RotaryAttention RotaryAttention::init(const Tensor& key, std::int64_t width, std::int64_t heads,
                                      std::int64_t kv_heads, SourceLine where) {
  const CallSite site(where);
  check_heads(width, heads, kv_heads, where);
  const std::vector<Tensor> keys = split_key({key, where}, 4);
  const std::int64_t kv_width = width / heads * kv_heads;
  return {matrix(keys[0], width, width),
          matrix(keys[1], width, width),
          matrix(keys[2], width, kv_width),
          matrix(keys[3], width, kv_width),
          heads,
          kv_heads};
}
std::vector<Tensor> RotaryAttention::queries_keys_values(const Operand& given, const Rotary& rotary) const {
  check_sequence("attention with rotary positions", given, q.size(0));
  const Tensor& x = given.tensor();
  const Tensor queries = rotary(split_heads(matmul(x, q), heads));
  const Tensor keys = rotary(split_heads(matmul(x, k), kv_heads));
  return {queries, keys, split_heads(matmul(x, v), kv_heads)};
}
Tensor RotaryAttention::operator()(const Operand& x, const Rotary& rotary) const {
  const CallSite site(x.where());
  const std::vector<Tensor> parts = queries_keys_values(x, rotary);
  const AttentionAttrs attrs{.causal = true, .scale = 0};
  return matmul(merge_heads(tidemark::attention(parts[0], parts[1], parts[2], attrs)), out);
}
std::pair<Tensor, KeyValueCache> RotaryAttention::operator()(const Operand& x, const Rotary& rotary,
                                                             const KeyValueCache& cache,
                                                             const Tensor& position) const {
  const CallSite site(x.where());
  const std::vector<Tensor> parts = queries_keys_values(x, rotary);
  auto [mixed, next] = attend(parts[0], parts[1], parts[2], cache, position);
  return {matmul(merge_heads(mixed), out), std::move(next)};
}

SwiGlu SwiGlu::init(const Tensor& key, std::int64_t width, std::int64_t hidden, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  return {matrix(keys[0], width, hidden), matrix(keys[1], width, hidden), matrix(keys[2], hidden, width)};
}
Tensor SwiGlu::operator()(const Operand& given) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  const Tensor opened = silu(matmul(x, gate));
  return matmul(opened * matmul(x, up), down);
}

LlamaBlock LlamaBlock::init(const Tensor& key, const LlamaConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {RmsNorm::init(config.width), RmsNorm::init(config.width),
          RotaryAttention::init(keys[0], config.width, config.heads, config.kv_heads, where),
          SwiGlu::init(keys[1], config.width, config.hidden)};
}
Tensor LlamaBlock::operator()(const Operand& given, const Rotary& rotary) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  const Tensor h = x + attention(norm1(x), rotary);
  return h + feed_forward(norm2(h));
}

std::pair<Tensor, KeyValueCache> LlamaBlock::operator()(const Operand& given, const Rotary& rotary,
                                                        const KeyValueCache& cache,
                                                        const Tensor& position) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  auto [attended, next] = attention(norm1(x), rotary, cache, position);
  const Tensor h = x + attended;
  return {h + feed_forward(norm2(h)), std::move(next)};
}

Llama Llama::init(const Tensor& key, const LlamaConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  Llama llama;
  llama.token_table = random_normal(keys[0], {config.vocabulary, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    llama.blocks.push_back(LlamaBlock::init(fold_in(keys[1], i), config, where));
  }
  llama.norm = RmsNorm::init(config.width);
  llama.head = matrix(keys[2], config.width, config.vocabulary);
  return llama;
}
Tensor Llama::hidden(const Operand& tokens) const {
  const CallSite site(tokens.where());
  check_tokens("a Llama", tokens);
  Tensor h = embedding(token_table, tokens.tensor());  // (B, T, width)
  const std::int64_t head_width = h.size(-1) / blocks.front().attention.heads;
  const Rotary rotary = Rotary::of(tokens.tensor().size(1), head_width, h.dtype());
  for (const LlamaBlock& block : blocks) h = block(h, rotary);
  return norm(h);
}
Tensor Llama::logits(const Operand& hidden) const {
  const CallSite site(hidden.where());
  return matmul(hidden.tensor(), head);
}
Tensor Llama::operator()(const Operand& tokens) const {
  const CallSite site(tokens.where());
  return logits(hidden(tokens));
}
LanguageCache Llama::cache(std::int64_t batch, std::int64_t capacity, SourceLine where) const {
  const CallSite site(where);
  LanguageCache empty{{}, scalar(0, DType::i64)};
  for (const LlamaBlock& block : blocks) {
    const std::int64_t head_width = token_table.size(1) / block.attention.heads;
    empty.blocks.push_back(
        KeyValueCache::init(batch, block.attention.kv_heads, capacity, head_width, token_table.dtype()));
  }
  return empty;
}
std::pair<Tensor, LanguageCache> Llama::hidden(const Operand& tokens, const LanguageCache& before) const {
  const CallSite site(tokens.where());
  const std::int64_t capacity = capacity_of(before, blocks.size(), tokens.where()),
                     head_width = before.blocks.front().keys.size(3);
  check_tokens("a Llama with a cache", tokens, "(B, T)", capacity);
  const std::int64_t length = tokens.tensor().size(1);
  Tensor h = embedding(token_table, tokens.tensor());  // (B, T, width)
  const Tensor places = positions_from(before.position, length);
  const Rotary rotary = Rotary::of(capacity, head_width, h.dtype()).at(places);
  LanguageCache after{{}, before.position + length};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto [next, own] = blocks[i](h, rotary, before.blocks[i], before.position);
    h = next;
    after.blocks.push_back(std::move(own));
  }
  return {norm(h), std::move(after)};
}
Tensor Llama::loss(const Operand& tokens, const Tensor& next) const {
  const CallSite site(tokens.where());
  return linear_cross_entropy(hidden(tokens), head, next, {.columns = true});
}

}  // namespace tidemark::nn
