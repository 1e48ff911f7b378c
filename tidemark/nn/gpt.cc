#include "tidemark/nn/gpt.h"

#include <fmt/format.h>

#include <tuple>

namespace tidemark::nn {

Gpt Gpt::init(const Tensor& key, const GptConfig& config, SourceLine where) {
  check_heads(config.width, config.heads, config.heads, where);
  const std::vector<Tensor> keys = split_key({key, where}, 3);
  Gpt gpt;
  gpt.token_table = random_normal({keys[0], where}, {config.vocabulary, config.width}, 0, 0.02);
  gpt.position_table = random_normal({keys[1], where}, {config.context, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    gpt.blocks.push_back(TransformerBlock::init(fold_in(keys[2], i), config.width));
  }
  gpt.norm = LayerNorm::init(config.width);
  gpt.heads = config.heads;
  gpt.reversible = config.reversible;
  return gpt;
}
Tensor Gpt::hidden(const Tensor& tokens, const Dropout& dropout) const {
  const std::int64_t length = tokens.size(-1);
  Tensor h = embedding(token_table, tokens);  // (B, T, width)
  h = h + position_table.at(Range{0, length});
  h = dropout.use(0)(h);
  if (reversible && size_of(h.dtype()) == 2) h = cast(h, DType::f32);
  Tensor other = h;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Dropout own = dropout.use(static_cast<std::int64_t>(i) + 1);
    if (reversible) {
      std::tie(h, other) = blocks[i](h, other, heads, true, own);
    } else {
      h = blocks[i](h, heads, true, own);
    }
  }
  if (reversible) h = cast((h + other) * 0.5, token_table.dtype());
  return norm(h);
}
Tensor Gpt::logits(const Tensor& hidden) const { return matmul(hidden, transpose(token_table)); }
Tensor Gpt::operator()(const Tensor& tokens, const Dropout& dropout) const {
  return logits(hidden(tokens, dropout));
}
LanguageCache Gpt::cache(std::int64_t batch, std::int64_t capacity, SourceLine where) const {
  if (reversible) {
    fail(ErrorCode::bad_attribute, {.what = "a cache for a reversible model",
                                    .expected = "a model whose blocks are not reversible",
                                    .where = where,
                                    .help = "write with gpt(tokens), which reads all tokens again"});
  }
  const std::int64_t width = token_table.size(1), context = position_table.size(0);
  if (capacity < 1 || capacity > context) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("a cache for {} tokens", capacity),
                                    .expected = fmt::format("1 to {}, the model's context", context),
                                    .where = where});
  }
  LanguageCache empty{{}, scalar(0, DType::i64)};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    empty.blocks.push_back(KeyValueCache::init(batch, heads, capacity, width / heads, token_table.dtype()));
  }
  return empty;
}
std::pair<Tensor, LanguageCache> Gpt::hidden(const Tensor& tokens, const LanguageCache& before) const {
  const std::int64_t length = tokens.size(-1), capacity = before.blocks.front().keys.size(2);
  const Tensor places = positions_from(before.position, length);
  const Tensor table = position_table.at(Range{0, capacity});
  const Tensor read = embedding(token_table, tokens);  // (B, T, width)
  Tensor h = read + embedding(table, places);
  LanguageCache after{{}, before.position + length};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto [next, own] = blocks[i](h, heads, before.blocks[i], before.position);
    h = next;
    after.blocks.push_back(std::move(own));
  }
  return {norm(h), std::move(after)};
}
Tensor Gpt::loss(const Tensor& tokens, const Tensor& next, const Dropout& dropout) const {
  return linear_cross_entropy(hidden(tokens, dropout), token_table, next);
}

}  // namespace tidemark::nn
