#include "tidemark/nn/gpt.h"

#include <fmt/format.h>

#include <tuple>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

Gpt Gpt::init(const Tensor& key, const GptConfig& config, SourceLine where) {
  const CallSite site(where);
  check_heads(config.width, config.heads, config.heads, where);
  const std::vector<Tensor> keys = split_key({key, where}, 3);
  Gpt gpt;
  gpt.token_table = random_normal({keys[0], where}, {config.vocabulary, config.width}, 0, 0.02);
  gpt.position_table = random_normal({keys[1], where}, {config.context, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    gpt.blocks.push_back(TransformerBlock::init(fold_in(keys[2], i), config.width, config.activation));
  }
  gpt.norm = LayerNorm::init(config.width);
  gpt.heads = config.heads;
  gpt.reversible = config.reversible;
  return gpt;
}
Tensor Gpt::hidden(const Operand& tokens, const Dropout& dropout) const {
  const CallSite site(tokens.where());
  check_tokens("a GPT", tokens, "(B, T)", position_table.size(0));
  const std::int64_t length = tokens.tensor().size(1);
  Tensor h = embedding(token_table, tokens.tensor());  // (B, T, width)
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
Tensor Gpt::logits(const Operand& hidden) const {
  const CallSite site(hidden.where());
  return matmul(hidden.tensor(), transpose(token_table));
}
Tensor Gpt::operator()(const Operand& tokens, const Dropout& dropout) const {
  const CallSite site(tokens.where());
  return logits(hidden(tokens, dropout));
}
LanguageCache Gpt::cache(std::int64_t batch, std::int64_t capacity, SourceLine where) const {
  if (reversible) {
    fail(ErrorCode::bad_attribute, {.what = "a cache for a reversible model",
                                    .expected = "a model whose blocks are not reversible",
                                    .where = where,
                                    .help = "write with gpt(tokens), which reads all tokens again"});
  }
  const CallSite site(where);
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
std::pair<Tensor, LanguageCache> Gpt::hidden(const Operand& tokens, const LanguageCache& before) const {
  const CallSite site(tokens.where());
  const std::int64_t capacity = capacity_of(before, blocks.size(), tokens.where());
  check_tokens("a GPT with a cache", tokens, "(B, T)", capacity);
  const std::int64_t length = tokens.tensor().size(1);
  const Tensor places = positions_from(before.position, length);
  const Tensor table = position_table.at(Range{0, capacity});
  const Tensor read = embedding(token_table, tokens.tensor());  // (B, T, width)
  Tensor h = read + embedding(table, places);
  LanguageCache after{{}, before.position + length};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto [next, own] = blocks[i](h, heads, before.blocks[i], before.position);
    h = next;
    after.blocks.push_back(std::move(own));
  }
  return {norm(h), std::move(after)};
}
Tensor Gpt::loss(const Operand& tokens, const Tensor& next, const Dropout& dropout) const {
  const CallSite site(tokens.where());
  return linear_cross_entropy(hidden(tokens, dropout), token_table, next);
}

std::vector<NamePattern> gpt2_names(std::string_view tree, std::string_view file) {
  std::vector<NamePattern> names;
  const auto add = [&](std::string_view ours, std::string_view theirs) {
    names.emplace_back(fmt::format("{}{}", tree, ours), fmt::format("{}{}", file, theirs));
  };
  const auto add_pair = [&](std::string_view ours, std::string_view theirs, std::string_view weight) {
    add(fmt::format("{}.{}", ours, weight), fmt::format("{}.weight", theirs));
    add(fmt::format("{}.bias", ours), fmt::format("{}.bias", theirs));
  };
  add("token_table", "wte.weight");
  add("position_table", "wpe.weight");
  add_pair("blocks.*.norm1", "h.*.ln_1", "gain");
  add_pair("blocks.*.norm2", "h.*.ln_2", "gain");
  add_pair("blocks.*.attention.qkv", "h.*.attn.c_attn", "weight");
  add_pair("blocks.*.attention.out", "h.*.attn.c_proj", "weight");
  add_pair("blocks.*.up", "h.*.mlp.c_fc", "weight");
  add_pair("blocks.*.down", "h.*.mlp.c_proj", "weight");
  add_pair("norm", "ln_f", "gain");
  return names;
}

}  // namespace tidemark::nn
